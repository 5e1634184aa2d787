package phrases

import "bytes"

// Sign is what a line may have that matters to somebody.
type Sign struct {
	// Text of two bytes or more stands in the line; Word: behind no letter and no digit.
	Text string
	Word bool
	// For are those to whom the line matters, a bit for each.
	For uint8
	// Also, unless nil, looks closer at the line in which Text stands at a place. A line may have Text at each byte, so that
	// Also looks at a bounded part.
	Also func(line []byte, at int) bool
	// Behind, unless nil, has the bytes with which behind Text Also may be true. The end of a line counts as a line feed.
	Behind *[256]bool
}

// Signs finds lines that have one of several signs, in one pass over each line.
type Signs struct {
	// lists tells of two bytes, by pairIndex, the number of the list of the signs that are found by them, those of a sign that are
	// the rarest in text. No sign is found by those of list 0.
	lists [pairIndexes]uint16
	all   []list
}

// list are signs that are found by two bytes.
type list struct {
	signs []placed
	// behind has what stands behind the two in a sign.
	behind [256]bool
}

// placed is a sign that stands so many bytes before the two bytes by which the sign is found.
type placed struct {
	Sign
	before int
}

// pairIndexes is how many pairs of bytes are told apart at a look: so few that what is said of them stays in a processor's cache.
const pairIndexes = 1 << 14

// pairIndex is the number of two bytes: first is the first one, or the number of a pair that ends in the first one.
func pairIndex(first uint, second byte) uint { return (first<<7 ^ uint(second)) % pairIndexes }

// words is a bit of the number of a list that has words alone.
const words = 1 << 15

// NewSigns are the signs of several lists.
func NewSigns(lists ...[]Sign) *Signs {
	s := &Signs{all: make([]list, 1)}
	for _, list := range lists {
		for i := range list {
			s.add(&list[i])
		}
	}
	return s
}

func (s *Signs) add(sign *Sign) {
	at := 0
	if !sign.Word {
		at = rarest(sign.Text)
	}
	n := &s.lists[pairIndex(uint(sign.Text[at]), sign.Text[at+1])]
	if *n == 0 {
		*n = uint16(len(s.all)) | words
		s.all = append(s.all, list{})
	}
	if !sign.Word {
		*n &^= words
	}
	l := &s.all[*n&^words]
	l.signs = append(l.signs, placed{*sign, at})
	rest := sign.Text[at+2:]
	for c := range l.behind {
		l.behind[c] = l.behind[c] || rest == "" && (sign.Behind == nil || sign.Behind[c]) || rest != "" && rest[0] == byte(c)
	}
}

// Texts are signs that are phrases alone.
func Texts(texts ...string) []Sign {
	signs := make([]Sign, len(texts))
	for i, t := range texts {
		signs[i].Text = t
	}
	return signs
}

// Signs are the phrases of a list as signs.
func (l *List) Signs() []Sign { return Texts(l.Phrases()...) }

// rarest is where in a phrase the two bytes stand that are the rarest in logs.
func rarest(text string) (at int) {
	const commonest = 1 << 10
	least := commonest + 1
	for i := 0; i+1 < len(text); i++ {
		n := commonness(text[i]) * commonness(text[i+1])
		if text[i:i+2] == "0x" {
			n = commonest
		}
		if n < least {
			least, at = n, i
		}
	}
	return at
}

// commonness is how often a byte stands in logs, roughly: the letters are by their frequency in English.
func commonness(c byte) int {
	const letters = "zqjxkvbywgpfmucdlhrsnioate"
	switch {
	case c == ' ' || c >= '0' && c <= '9':
		return len(letters)
	case c >= 'a' && c <= 'z':
		return 2 + bytes.IndexByte([]byte(letters), c)
	case bytes.IndexByte([]byte(".:-[]=/_,"), c) >= 0:
		return len(letters) / 2
	}
	return 2
}

// In is for whom a line has signs.
func (s *Signs) In(line []byte) (whom uint8) {
	if len(line) == 0 {
		return 0
	}
	index := uint(line[0])
	for i, c := range line[1:] {
		index = pairIndex(index, c)
		n := s.lists[index]
		if n == 0 || n&words != 0 && i > 0 && isAlphanumeric(line[i-1]) {
			continue
		}
		behind := byte('\n')
		if i+2 < len(line) {
			behind = line[i+2]
		}
		if l := &s.all[n&^words]; l.behind[behind] {
			whom |= l.at(line, i, whom)
		}
	}
	return whom
}

// at is for whom, but those that are known, signs stand where two bytes do.
func (l *list) at(line []byte, i int, known uint8) (whom uint8) {
	for k := range l.signs {
		p := &l.signs[k]
		switch {
		case p.For&^(known|whom) == 0, p.Word && i > 0 && isAlphanumeric(line[i-1]):
		case i < p.before || line[i-p.before] != p.Text[0] || !hasPrefix(line[i-p.before:], p.Text):
		case p.Also == nil || p.Also(line, i-p.before):
			whom |= p.For
		}
	}
	return whom
}

func hasPrefix(line []byte, text string) bool {
	return len(line) >= len(text) && string(line[:len(text)]) == text
}
