package console

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/regtext"
	"github.com/backsight/backsight/internal/phrases"
)

// Most lines of a log say nothing to any Reader. One pass, which cuts the text into lines, looks at each for the signs of all Readers,
// and keeps a bit for it: Readers go from one telling line to the next. A line that tells nothing
//
//   - has no sign of a Reader, neither as it stands in the text nor without what mail and pages put into it,
//   - is a message of its own: no Reader goes on with the next line where that has no prefix of a log.

// Signs are what lines of a Reader's reports have.
type Signs struct {
	Phrases []phrases.Sign
	// Registers, unless nil, tells by the name of a register whether that one is a sign; two in a line are.
	Registers func(name string) bool
	// Ends, unless nil, tells by a line without blanks at its end, which is not empty, whether that has a sign there.
	Ends func(line []byte) bool
	// Joins: the Reader may take a line without a prefix for the end of the message of the line before.
	Joins bool
}

// Phrases are signs that are phrases alone.
func Phrases(texts ...string) func(*input.Env) Signs {
	return func(*input.Env) Signs { return Signs{Phrases: phrases.Texts(texts...)} }
}

// Whom a sign is for: Readers without Next, which are asked at each telling line, share the bit asked, others have one each. A Log is
// one of theirs.
const (
	asked   uint8 = 1 << iota
	foreign       // the line may name a processor that is not supported
	paged         // the line has what pages put into lines
	empty         // the line has nothing but its end
	firstOwn
)

// bitOf is the bit of the i-th of readers.
func bitOf(readers []Reader, i int) uint8 {
	if readers[i].Next == nil {
		return asked
	}
	bit := firstOwn
	for k := range i {
		if readers[k].Next != nil {
			bit <<= 1
		}
	}
	if bit == 0 { // there are no more
		return asked
	}
	return bit
}

// signs are those of all Readers.
type signs struct {
	*phrases.Signs
	ends  []end
	joins uint8
	whom  uint8
}

type end struct {
	is  func(line []byte) bool
	bit uint8
}

// signsOf are the signs of readers; nil where one of them does not say which it has, so that each line may be one's.
func signsOf(env *input.Env, readers []Reader) *signs {
	all := &signs{whom: asked}
	lists := [][]phrases.Sign{marked(paged, pages()), marked(foreign, unsupported.Signs())}
	var enough []func(name string) bool
	var know uint8
	for i := range readers {
		if readers[i].Signs == nil {
			return nil
		}
		s, bit := readers[i].Signs(env), bitOf(readers, i)
		all.whom |= bit
		lists = append(lists, marked(bit, s.Phrases))
		if s.Ends != nil {
			all.ends = append(all.ends, end{s.Ends, bit})
		}
		if s.Registers != nil {
			enough, know = append(enough, s.Registers), know|bit
		}
		if s.Joins {
			all.joins |= bit
		}
	}
	if len(enough) > 0 {
		lists = append(lists, marked(know, regtext.NewVocabulary(env.Archs).Signs(func(name string) bool {
			return slices.ContainsFunc(enough, func(f func(string) bool) bool { return f(name) })
		})))
	}
	all.Signs = phrases.NewSigns(lists...)
	return all
}

// marked are signs for somebody.
func marked(whom uint8, signs []phrases.Sign) []phrases.Sign {
	for i := range signs {
		signs[i].For = whom
	}
	return signs
}

// pages are signs of what pages put into lines.
func pages() []phrases.Sign {
	list := phrases.Texts("&lt;", "&gt;", "&nbsp;", "&quot;", "&#39;", "&amp;", "=3D", "=09", "=20", "\u00a0")
	for i := range len(escapable) {
		list = append(list, phrases.Sign{Text: `\` + escapable[i:i+1]})
	}
	return list
}

// in is for whom a line has signs, as it is or as Readers may see it.
func (s *signs) in(line []byte) (whom uint8) {
	if mayBePadded(line) && bytes.Contains(line, []byte(row)) {
		return s.whom | foreign
	}
	if whom = s.In(line); whom&paged != 0 {
		whom |= s.In([]byte(ofPage(string(line))))
	}
	for len(line) > 0 && (line[len(line)-1] == ' ' || line[len(line)-1] == '\t' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	if len(line) == 0 {
		return whom
	}
	for _, end := range s.ends {
		if whom&end.bit == 0 && end.is(line) {
			whom |= end.bit
		}
	}
	return whom
}

// telling says which lines tell something.
type telling struct {
	whom     uint8       // for whom Telling speaks, 0: each line is one's
	tells    [8][]uint64 // a bit for each line that has signs, by for whom
	prefixed []uint64    // likewise: something stands in front of the message
	had      uint8       // for whom the line that was looked at last has signs
	given    int         // how many bytes tell somebody something
	foreign  bool        // some line may name a processor that is not supported
	at       int         // where the line begins that was looked at last
	searched int         // up to where the text was searched for bytes that are left out
	plain    bool        // none was found in what was searched last
	scratch  []byte
}

// searchedAtOnce is how much of the text is searched at once for bytes that are left out.
const searchedAtOnce = 1 << 16

// look looks at the line behind the last, which begins at at and ends before end.
func (l *Log) look(s *signs, at, end int) {
	if s == nil {
		l.foreign, l.given = true, end
		return
	}
	if l.whom = asked; l.lines%64 == 0 {
		l.prefixed = append(l.prefixed, 0)
		for whom := s.whom; whom != 0; whom &= whom - 1 {
			list := &l.tells[bits.TrailingZeros8(whom)]
			*list = append(*list, 0)
		}
	}
	prefixed := l.lines > 0 && l.isPrefixed(l.lines-1)
	was := prefixed
	if l.lines == 0 || !bytes.Equal(l.text[at:end], l.text[l.at:at]) { // terminals and pages fill with one line
		l.had, prefixed = l.signsIn(s, at, end)
	}
	l.foreign = l.foreign || l.had&foreign != 0
	l.tell(l.lines, l.had&s.whom, end-at)
	switch {
	case prefixed:
		l.prefixed[l.lines/64] |= 1 << (l.lines % 64)
	case was && l.had&empty == 0: // may go on with the message of the line before
		l.tell(l.lines-1, s.joins, at-l.at)
	}
	l.at = at
}

// signsIn is for whom a line has signs, and whether something stands in front of its message.
func (l *Log) signsIn(s *signs, at, end int) (whom uint8, prefixed bool) {
	raw := l.text[at:end]
	line := withoutEnd(raw)
	if len(line) == 0 {
		return empty, false
	}
	if len(line) == len(raw) && end < len(l.text) { // a name may be cut in two
		whom = foreign
	}
	if !l.isPlain(at, end) && !isPlain(line) {
		if unsupported.In(line) {
			whom = foreign
		}
		l.scratch = appendPlain(l.scratch[:0], line)
		line = l.scratch
	}
	return whom | s.in(line), isPrefixed(line)
}

// isPlain tells whether a piece of the text lies within a larger one that has no bytes that are left out.
func (l *Log) isPlain(at, end int) bool {
	if end > l.searched {
		l.searched = max(end, min(len(l.text), at+searchedAtOnce))
		l.plain = isPlain(l.text[at:l.searched])
	}
	return l.plain
}

// tell sets for whom a line of so many bytes tells something.
func (l *Log) tell(i int, whom uint8, size int) {
	if whom == 0 {
		return
	}
	bit, before := uint64(1)<<(i%64), uint64(0)
	for k := range l.tells {
		if len(l.tells[k]) > 0 {
			word := &l.tells[k][i/64]
			before |= *word & bit
			*word |= uint64(whom>>k&1) << (i % 64)
		}
	}
	if before == 0 {
		l.given += size
	}
}

// isPrefixed tells whether something stands in front of the message of a line.
func (l *Log) isPrefixed(i int) bool { return l.prefixed[i/64]&(1<<(i%64)) != 0 }

// Telling is the first line from i on that tells something to the Reader whose Log this is, the number of lines where there is none.
func (l *Log) Telling(i int) int {
	if l.whom == 0 || i >= l.lines {
		return i
	}
	tells := l.tells[bits.TrailingZeros8(l.whom)]
	if word := tells[i/64] >> (i % 64); word != 0 {
		return i + bits.TrailingZeros64(word)
	}
	for k := i/64 + 1; k < len(tells); k++ {
		if tells[k] != 0 {
			return k*64 + bits.TrailingZeros64(tells[k])
		}
	}
	return l.lines
}

// Prefixed is the last line from from on and before to in front of whose message something stands, -1 for none.
func (l *Log) Prefixed(from, to int) int {
	for i := to - 1; i >= from; i-- {
		word := l.prefixed[i/64] << (63 - i%64)
		if word != 0 {
			if i -= bits.LeadingZeros64(word); i < from {
				break
			}
			return i
		}
		i -= i % 64
	}
	return -1
}

// Broken is the first line from i on that may go on with the line before: nothing stands in front of its message, but in front of that of
// the line before. It is the number of lines where there is none.
func (l *Log) Broken(i int) int {
	if l.whom == 0 {
		return min(i, l.lines)
	}
	for ; i < l.lines; i += 64 - i%64 {
		behind := l.prefixed[i/64]<<1 | 1
		if i >= 64 {
			behind = behind&^1 | l.prefixed[i/64-1]>>63
		}
		if word := (behind &^ l.prefixed[i/64]) >> (i % 64); word != 0 {
			return min(l.lines, i+bits.TrailingZeros64(word))
		}
	}
	return l.lines
}

// Given is how many bytes of the text tell something: what Readers are given that have found nothing.
func (l *Log) Given() int { return l.given }
