package kernellog

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/target"
)

// stackWord is a word of memory, or none where a line lost it.
type stackWord struct {
	value uint64
	known bool
}

// stack is the memory that a report prints of the stack. Reports print it in two ways:
//
//	Stack : 00000000 82931454 000000f6 …            from SP on (MIPS, x86 before Linux 4.9)
//	        00000001 81d4d530 …
//	Stack:    ffffffff 0000000a 00000000 …          of Linux 2.4 for MIPS, which has seven words in this line
//	 0000000c 00000000 …
//	 80141aa0 ...
//	Stack: (0xca911db0 to 0xca912000)               with addresses (ARM; arm64 before Linux 4.10, four words a line)
//	1da0:                                     00000002 bf00009c 000000e1 00010000
type stack struct {
	open  bool
	words []stackWord // from SP on
	more  bool        // an ellipsis ends the words
	short bool        // a line lacked words: where those of further lines belong is not known
	twice bool        // another stack begins within
	// mips: its head is that of MIPS since Linux 2.6, old: that of Linux 2.4.
	mips, old bool
	digits    int // of its words
	lacks     int // how many words the last line lacked, where all lines before had theirs
	// lines are those with addresses, each of a run of words.
	lines []stackLine
	base  uint64 // where ARM's dump begins: lines have the low 16 bits only
	sp    uint64 // where ARM says that the stack begins, 0 unknown
}

// stackLine is memory at an address, words of size bytes.
type stackLine struct {
	addr  uint64
	words []stackWord
	size  int
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
			base, ok := phrases.Hex(strings.TrimRight(lo, ")"))
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
			s.open, s.mips, s.old = true, strings.HasPrefix(text, "Stack :"), strings.HasPrefix(text, "Stack:   ")
			s.run(strings.TrimSpace(rest))
			if s.old && len(s.words) == 7 {
				s.short, s.lacks = false, 0
			}
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
	return s.base == 0 && s.run(text)
}

// run reads words that follow one another.
func (s *stack) run(text string) bool {
	fields := strings.Fields(text)
	fields = dropMarks(fields)
	if n := len(fields); n > 1 && fields[n-1] == "..." {
		fields, s.open, s.more = fields[:n-1], false, true
	}
	words := make([]stackWord, 0, len(fields))
	good := 0
	for _, f := range fields {
		v, ok := phrases.Hex(f)
		ok = ok && (len(f) == 8 || len(f) == 16)
		if words = append(words, stackWord{v, ok}); ok {
			good++
			s.digits = len(f)
		}
	}
	if good == 0 || 2*good < len(words) || len(words) > 8 {
		return len(words) == 0 && text == ""
	}
	if len(s.words)+len(words) > maxStackWords {
		return true
	}
	s.add(words, good, wordsInLine(fields))
	return true
}

// add adds the words of a line, of which good are known. A full line has as many as full.
func (s *stack) add(words []stackWord, good, full int) {
	lacked := s.lacks
	s.lacks = 0
	switch n := len(words); {
	case s.short && (n != lacked || good != n): // where they belong is not known
		return
	case s.short: // the rest of the line before
		s.short = false
	case n != full && !s.more:
		s.short, s.lacks = true, full-n
	}
	s.words = append(s.words, words...)
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

// lineBytes is how much memory a line of ARM's dump shows (arch/arm/kernel/traps.c, dump_mem).
const lineBytes = 32

// addressed reads a line of ARM's dump: each word has its column, so that what the line lacks on the left belongs to
// addresses below the dump. Where pages have made one space of several, the number of words tells.
func (s *stack) addressed(text string) bool {
	low, err := strconv.ParseUint(text[:4], 16, 16)
	if err != nil || len(s.lines) >= maxStackLines {
		return false
	}
	addr := s.base&^0xffff | low
	if addr+lineBytes <= s.base {
		addr += 0x10000
	}
	fields := strings.Fields(text[5:])
	line := stackLine{addr: addr, size: wordSize(fields)}
	first := 0 // column
	if addr <= s.base && s.base < addr+lineBytes {
		first = int(s.base-addr) / line.size
	}
	if columns := lineBytes / line.size; first > 0 && len(fields) == columns-first {
		line.addr += uint64(first * line.size)
		text = text[:5] + " " + strings.Join(fields, " ")
	}
	for digits, at := 2*line.size, len("1da0: "); at < len(text) && len(line.words) < lineBytes/line.size; at += digits + 1 {
		field := text[at:min(at+digits, len(text))]
		v, ok := phrases.Hex(field)
		line.words = append(line.words, stackWord{v, ok && len(field) == digits})
	}
	s.lines = append(s.lines, line)
	return true
}

// wordSize is the size of words as a line of ARM's dump has them.
func wordSize(fields []string) int {
	for _, f := range fields {
		if digitsOf(f) == 16 {
			return 8
		}
	}
	return 4
}

// isAround tells whether a message shows memory around what a register points to, as kernels of phones do between the
// registers and the stack, in more lines than anything else may stand within a report (arch/arm/kernel/process.c, show_data):
//
//	R4: 0xc155dbc0:
//	dbc0  00000000 c12e4318 ******** 00000000 00000000 00000000 00000000 00000000
func isAround(text string) bool {
	at, words, ok := strings.Cut(text, "  ")
	if !ok || len(at) != 4 || digitsOf(at) != 4 {
		name, at, ok := strings.Cut(strings.TrimSuffix(text, ":"), ": 0x")
		return ok && strings.HasSuffix(text, ":") && isRegister(strings.ToLower(name)) && digitsOf(at) >= 8
	}
	for _, w := range strings.Fields(words) {
		if w != "********" && digitsOf(w) != 8 {
			return false
		}
	}
	return words != ""
}

// values are the words that are known, from SP on.
func (s *stack) values() (list []uint64) {
	add := func(words []stackWord) {
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
		addWords(b, arch, s.lines[i].addr, s.lines[i].words, s.lines[i].size)
	}
}

// addWords adds words of size bytes, with gaps where they are not known.
func addWords(b *target.Builder, arch *cpu.Arch, addr uint64, words []stackWord, size int) {
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
