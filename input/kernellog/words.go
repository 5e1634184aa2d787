package kernellog

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// word is a word of memory, or none where a line lost it.
type word struct {
	value uint64
	known bool
}

// stack is the memory that a report prints of the stack. Reports print it in two ways:
//
//	Stack : 00000000 82931454 000000f6 …            from SP on (MIPS, x86 before Linux 4.9)
//	        00000001 81d4d530 …
//	Stack: (0xca911db0 to 0xca912000)               with addresses (ARM)
//	1da0:                                     00000002 bf00009c 000000e1 00010000
type stack struct {
	open  bool
	words []word // from SP on
	more  bool   // an ellipsis ends the words
	short bool   // a line lacked words: where those of further lines belong is not known
	last  int    // the words of the last line
	twice bool   // another stack begins within
	// lines are those with addresses, each of a run of words.
	lines []stackLine
	base  uint64 // where ARM's dump begins: lines have the low 16 bits only
	sp    uint64 // where ARM says that the stack begins, 0 unknown
}

// stackLine is memory at an address, words of 4 bytes.
type stackLine struct {
	addr  uint64
	words []word
}

// The most memory that a report prints: ARM's whole stack, and an exception's registers.
const (
	maxStackWords = 4096
	maxStackLines = 2048
)

// take reads a line of the stack.
func (s *stack) take(text string) bool {
	for _, head := range [...]string{"Stack: (0x", "Exception stack(0x"} {
		if rest, ok := strings.CutPrefix(text, head); ok {
			lo, _, _ := strings.Cut(rest, " ")
			base, ok := parseHex(strings.TrimRight(lo, ")"))
			s.twice = s.twice || ok && head[0] == 'S' && s.sp != 0
			if s.open = ok; ok {
				s.base = base
			}
			if head[0] == 'S' {
				s.sp = base
			}
			return true
		}
	}
	if rest, ok := strings.CutPrefix(text, "Stack"); ok {
		if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " "), ":"); ok && len(s.words) == 0 {
			s.open = true
			s.run(strings.TrimSpace(rest))
			return true
		}
		s.twice = s.twice || ok
	}
	if !s.open {
		return false
	}
	if text == "..." {
		s.open, s.more = false, true
		return true
	}
	if len(text) > 5 && text[4] == ':' && digitsOf(text[:4]) == 4 {
		return s.addressed(text)
	}
	return s.run(text)
}

// run reads words that follow one another.
func (s *stack) run(text string) bool {
	fields := strings.Fields(text)
	fields = dropMarks(fields)
	words := make([]word, 0, len(fields))
	good := 0
	for _, f := range fields {
		v, ok := parseHex(f)
		ok = ok && (len(f) == 8 || len(f) == 16)
		if words = append(words, word{v, ok}); ok {
			good++
		}
	}
	if good == 0 || 2*good < len(words) || len(words) > 8 {
		return len(words) == 0 && text == ""
	}
	full := wordsInLine(fields)
	rest := s.short && s.last+len(words) == full // of a line that mail broke
	if s.short && !rest || len(s.words)+len(words) > maxStackWords {
		return true
	}
	s.words, s.last = append(s.words, words...), len(words)
	s.short = len(words) != full && !rest
	return true
}

// dropMarks leaves out where x86 shows that another stack begins: <IRQ>, <EOI>.
func dropMarks(fields []string) []string {
	out := fields[:0]
	for _, f := range fields {
		if !strings.HasPrefix(f, "<") {
			out = append(out, f)
		}
	}
	return out
}

// wordsInLine is how many words a full line has: 64 columns of digits; x86's lines of eight
// bytes a word have four as well.
func wordsInLine(fields []string) int {
	for _, f := range fields {
		if len(f) == 16 {
			return 4
		}
	}
	return 8
}

// addressed reads a line of ARM's dump: each word of 8 digits has its column, so that what a
// line lacks on the left belongs to addresses below the dump.
func (s *stack) addressed(text string) bool {
	low, err := strconv.ParseUint(text[:4], 16, 16)
	if err != nil || len(s.lines) >= maxStackLines {
		return false
	}
	addr := s.base&^0xffff | low
	if addr+0x20 <= s.base {
		addr += 0x10000
	}
	line := stackLine{addr: addr}
	for column := 0; column < 8; column++ {
		at := len("1da0:") + 9*column + 1
		if at >= len(text) {
			break
		}
		field := text[at:min(at+8, len(text))]
		v, ok := parseHex(field)
		line.words = append(line.words, word{v, ok && len(field) == 8})
	}
	s.lines = append(s.lines, line)
	return true
}

// values are the words that are known, from SP on.
func (s *stack) values() (list []uint64) {
	add := func(words []word) {
		for _, w := range words {
			if w.known {
				list = append(list, w.value)
			}
		}
	}
	add(s.words)
	for i := range s.lines {
		add(s.lines[i].words)
	}
	return list
}

// addTo adds the printed memory to b; sp is the report's, 0 unknown.
func (s *stack) addTo(b *target.Builder, arch *cpu.Arch, sp uint64) {
	if sp != 0 {
		addWords(b, arch, sp, s.words, arch.RegSize)
	}
	for i := range s.lines {
		addWords(b, arch, s.lines[i].addr, s.lines[i].words, 4)
	}
}

// addWords adds words of size bytes, with gaps where they are not known.
func addWords(b *target.Builder, arch *cpu.Arch, addr uint64, words []word, size int) {
	for i := 0; i < len(words); {
		if !words[i].known {
			i++
			continue
		}
		first := i
		var data []byte
		for ; i < len(words) && words[i].known; i++ {
			data = appendWord(data, words[i].value, size, arch.BigEndian)
		}
		b.Add(addr+uint64(first*size), data, 0, target.PermRead|target.PermWrite)
	}
}

func appendWord(data []byte, v uint64, size int, big bool) []byte {
	for k := range size {
		shift := 8 * k
		if big {
			shift = 8 * (size - 1 - k)
		}
		data = append(data, byte(v>>shift))
	}
	return data
}

func hexOf(v uint64) string { return strconv.FormatUint(v, 16) }
