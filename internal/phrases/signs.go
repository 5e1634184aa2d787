package phrases

import (
	"bytes"
	"slices"
)

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
}

// Signs finds lines that have one of several signs, in one pass over each line.
type Signs struct {
	// pairs tells of two bytes whether a sign is found by them, those of a sign that are the rarest in text.
	pairs [1 << 16]kind
	// lists are the signs by what place says of the two bytes, one list behind the other: from[n] is where list n begins.
	lists []placed
	from  [places + 1]uint16
}

// kind is which signs are found by two bytes.
type kind uint8

const (
	// anywhere: some are no words.
	anywhere kind = 1 << iota
	// words: some are.
	words
)

// placed is a sign that stands so many bytes before the two bytes by which the sign is found.
type placed struct {
	Sign
	pair   uint16
	before int
}

// places is in how many lists the signs are.
const places = 1 << 11

// NewSigns are the signs of several lists.
func NewSigns(lists ...[]Sign) *Signs {
	s := new(Signs)
	for _, list := range lists {
		for i := range list {
			s.add(&list[i])
		}
	}
	slices.SortStableFunc(s.lists, func(a, b placed) int { return place(a.pair) - place(b.pair) })
	for i := range s.lists {
		s.from[place(s.lists[i].pair)+1]++
	}
	for n := range places {
		s.from[n+1] += s.from[n]
	}
	return s
}

func (s *Signs) add(sign *Sign) {
	if sign.Word {
		pair := pairOf(sign.Text[0], sign.Text[1])
		s.pairs[pair] |= words
		s.lists = append(s.lists, placed{*sign, pair, 0})
		return
	}
	at := rarest(sign.Text)
	pair := pairOf(sign.Text[at], sign.Text[at+1])
	s.pairs[pair] |= anywhere
	s.lists = append(s.lists, placed{*sign, pair, at})
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
func (l *List) Signs() []Sign { return Texts(l.phrases...) }

func pairOf(a, b byte) uint16 { return uint16(a) | uint16(b)<<8 }

func place(pair uint16) int { return int(pair*0x9e35>>3) % places }

// rarest is where in a phrase the two bytes stand that are the rarest in logs.
func rarest(text string) (at int) {
	least := 1 << 30
	for i := 0; i+1 < len(text); i++ {
		if n := commonness(text[i]) * commonness(text[i+1]); n < least {
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
	last := line[0]
	for i, c := range line[1:] {
		pair := pairOf(last, c)
		last = c
		if found := s.pairs[pair]; found != 0 && (found != words || i == 0 || !isWord(line[i-1])) {
			whom |= s.at(line, i, pair, whom)
		}
	}
	return whom
}

// at is for whom, but those that are known, signs stand where two bytes do.
func (s *Signs) at(line []byte, i int, pair uint16, known uint8) (whom uint8) {
	n := place(pair)
	list := s.lists[s.from[n]:s.from[n+1]]
	for k := range list {
		p := &list[k]
		switch {
		case p.pair != pair, p.For&^(known|whom) == 0, p.Word && i > 0 && isWord(line[i-1]):
		case len(p.Text) > 2 && (i < p.before || line[i-p.before] != p.Text[0] || !hasPrefix(line[i-p.before:], p.Text)):
		case p.Also == nil || p.Also(line, i-p.before):
			whom |= p.For
		}
	}
	return whom
}

func hasPrefix(line []byte, text string) bool {
	return len(line) >= len(text) && string(line[:len(text)]) == text
}

// isWord tells whether words have a byte.
func isWord(c byte) bool { return c|0x20-'a' < 26 || c-'0' <= 9 }
