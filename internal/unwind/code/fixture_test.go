package code

import (
	"bufio"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
)

// A fixture is a function as objdump prints it, with the rule that is true before each
// instruction beside it, and, behind "|", the one that is true once the call on that line
// has returned:
//
//	# arch: mips big flags=0x70001001
//	00400000 <f>:
//	  400000:	27bdffe8 	addiu	sp,sp,-24   => CFA=sp RA=ra
//	  400004:	afbf0014 	sw	ra,20(sp)       => CFA=sp+24 RA=ra
//	  400008:	0c100200 	jal	400800 <ext>    => CFA=sp+24 RA=ra | CFA=sp+24 RA=[CFA-4]
//
// A register that is not named holds the caller's value. RA and the others are sought in
// their registers first: until a call overwrites it, RA=ra. Lines without "=>" are data or
// never executed. "=/>" gives a rule that is true but is not what the source answers: a
// known limit. Words of other sections follow as objdump -s prints them. "# import: 404018
// abort" says what the dynamic linker stores in a word, and a label is the symbol of its
// address.
type fixture struct {
	arch  *cpu.Arch
	mode  cpu.Mode
	lines []line
	segs  []image.Segment
	entry []uint64
	// imports and labels are names by address.
	imports, labels map[uint64]string
}

type line struct {
	number      int
	pc          uint64
	len         int
	text        string
	want, after string
	call        bool
	beyond      bool // a known limit
}

// fixtures are all listings, by name.
func fixtures(t testing.TB) map[string]*fixture {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no listings: ", err)
	}
	all := map[string]*fixture{}
	for _, path := range files {
		all[strings.TrimSuffix(filepath.Base(path), ".txt")] = parseFixture(t, path)
	}
	return all
}

func parseFixture(t testing.TB, path string) *fixture {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := &fixture{imports: map[uint64]string{}, labels: map[uint64]string{}}
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		l.parse(t, n, in.Text())
	}
	if l.arch == nil || len(l.lines) == 0 || len(l.entry) == 0 {
		t.Fatal(path, ": no listing")
	}
	return l
}

// parse reads the line of a number.
func (l *fixture) parse(t testing.TB, n int, text string) {
	words := strings.Fields(text)
	switch {
	case strings.HasPrefix(text, "# arch: "):
		l.header(t, words[2:])
	case strings.HasPrefix(text, "# import: "):
		l.imports[number(t, words[2])] = words[3]
	case text == "" || text[0] == '#':
	case strings.HasSuffix(text, ">:"):
		addr := number(t, words[0])
		l.entry = append(l.entry, addr)
		l.labels[addr] = strings.Trim(words[1], "<>:")
	case strings.Contains(text, ":\t"):
		l.instruction(t, n, text)
	default: // as objdump -s prints words: bytes in their order
		l.place(number(t, words[0]), unhex(t, strings.Join(words[1:], "")), false)
	}
}

// header finds the processor by what an ELF header of the program would say.
func (l *fixture) header(t testing.TB, words []string) {
	machine := map[string]uint16{"mips": 8, "mips64": 8, "arm": 40, "aarch64": 183, "riscv32": 243, "riscv64": 243, "x86_64": 62, "i386": 3}
	class, flags, profile := uint8(1), uint64(0), byte(0)
	if strings.HasSuffix(words[0], "64") {
		class = 2
	}
	for _, w := range words[2:] {
		name, v, _ := strings.Cut(w, "=")
		switch name {
		case "flags":
			flags = number(t, strings.TrimPrefix(v, "0x"))
		case "mode":
			l.mode = 1
		case "profile":
			profile = v[0]
		}
	}
	if words[0] == "mips64" && flags&0x20 != 0 { // n32
		class = 1
	}
	var ok bool
	if l.arch, ok = captured.Archs().ByELF(machine[words[0]], class, words[1] == "big", uint32(flags), profile); !ok {
		t.Fatal("no processor for ", words)
	}
}

// instruction reads one line: "  400000:\t27bdffe8 \taddiu\tsp,sp,-24   => rule | rule".
func (l *fixture) instruction(t testing.TB, n int, text string) {
	code, want, beyond := strings.Cut(text, "=/>")
	if !beyond {
		code, want, _ = strings.Cut(text, "=>")
	}
	addr, rest, _ := strings.Cut(strings.TrimSpace(code), ":\t")
	raw, insn, _ := strings.Cut(rest, "\t")
	ll := line{number: n, pc: number(t, addr), text: insn, beyond: beyond}
	b := l.units(t, raw)
	ll.len = len(b)
	want, after, call := strings.Cut(want, " | ")
	ll.want, ll.after, ll.call = strings.TrimSpace(want), strings.TrimSpace(after), call
	l.lines = append(l.lines, ll)
	l.place(ll.pc, b, true)
}

// units puts the units that objdump prints (bytes, halves, words) into the byte order of
// the processor.
func (l *fixture) units(t testing.TB, raw string) (out []byte) {
	for _, unit := range strings.Fields(raw) {
		b := unhex(t, unit)
		for i := range b {
			if l.arch.BigEndian {
				out = append(out, b[i])
			} else {
				out = append(out, b[len(b)-1-i])
			}
		}
	}
	return out
}

// place appends bytes to the last segment or begins one. A hole in the text, such as
// padding that the fixture leaves out, is filled with zeros.
func (l *fixture) place(addr uint64, b []byte, exec bool) {
	if n := len(l.segs); n > 0 && l.segs[n-1].Exec == exec {
		s := &l.segs[n-1]
		s.Data = append(s.Data, make([]byte, addr-s.Addr-s.Size)...)
		s.Data = append(s.Data, b...)
		s.Size = uint64(len(s.Data))
		return
	}
	l.segs = append(l.segs, image.Segment{Addr: addr, Size: uint64(len(b)), Data: b, Read: true, Exec: exec})
}

func number(t testing.TB, s string) uint64 {
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// image is the program of the listing, with or without symbols.
func (l *fixture) image(symbols bool) *image.Image {
	segs := append([]image.Segment(nil), l.segs...)
	c := &labelled{mode: l.mode, imports: l.imports}
	if symbols {
		c.entries, c.labels = l.entry, l.labels
	}
	return image.New(image.Header{Path: "listing", Arch: l.arch, Segments: segs}, c)
}

// labelled is a container that knows where functions begin, and names.
type labelled struct {
	image.Container
	entries         []uint64
	mode            cpu.Mode
	imports, labels map[uint64]string
}

func (c *labelled) Section(string) (image.Section, bool) { return image.Section{}, false }

func (c *labelled) SymbolAt(addr uint64) (image.Symbol, bool) {
	name, ok := c.labels[addr]
	return image.Symbol{Name: name, Addr: addr, Mode: c.mode}, ok
}

func (c *labelled) Import(addr uint64) (string, bool) {
	name, ok := c.imports[addr]
	return name, ok
}

func (c *labelled) Functions(yield func(uint64, cpu.Mode, uint64) bool) {
	for _, e := range c.entries {
		if !yield(e, c.mode, 0) {
			return
		}
	}
}

// places calls visit for every place of a line that has an expectation.
func (l *fixture) places(img *image.Image, ll *line, visit func(q *stackwalk.Query, want string)) {
	if ll.want == "" {
		return
	}
	visit(&stackwalk.Query{Image: img, Arch: l.arch, PC: ll.pc, Mode: l.mode, Exact: true}, ll.want)
	if ll.call {
		ra := l.behind(ll)
		visit(&stackwalk.Query{Image: img, Arch: l.arch, PC: ra - 1, Resume: ra, Mode: l.mode}, ll.after)
	}
}

// behind is where the call of a line returns to.
func (l *fixture) behind(ll *line) uint64 {
	ra := ll.pc + uint64(ll.len)
	if buf := l.decode(ll); buf[0].Flags&cpu.FlagDelaySlot != 0 {
		ra += uint64(buf[1].Len)
	}
	return ra
}

// hasSlot tells whether the instruction of a line has a delay slot.
func (l *fixture) hasSlot(ll *line) bool {
	buf := l.decode(ll)
	return buf[0].Flags&cpu.FlagDelaySlot != 0
}

// decode is the instruction of a line and the next one.
func (l *fixture) decode(ll *line) (buf [2]cpu.Insn) {
	l.arch.Decoder.Decode(l.segs[0].Data[ll.pc-l.segs[0].Addr:], ll.pc, l.mode, buf[:])
	return buf
}

// beyond tells whether some line is marked as a known limit.
func (l *fixture) beyond() bool {
	for i := range l.lines {
		if l.lines[i].beyond {
			return true
		}
	}
	return false
}
