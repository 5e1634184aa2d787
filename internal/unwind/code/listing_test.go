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
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/unwind"
)

// A listing is a function as objdump prints it, with the rule that is true before
// each instruction beside it, and, behind "|", the one that is true once the call
// on that line has returned:
//
//	# arch: mips big flags=0x70001001
//	00400000 <f>:
//	  400000:	27bdffe8 	addiu	sp,sp,-24   => CFA=sp RA=ra
//	  400004:	afbf0014 	sw	ra,20(sp)       => CFA=sp+24 RA=ra
//	  400008:	0c100200 	jal	400800 <ext>    => CFA=sp+24 RA=ra | CFA=sp+24 RA=[CFA-4]
//
// A register that is not named holds the caller's value. RA and the others are
// sought in their registers first: until a call overwrites it, RA=ra. Lines
// without "=>" are data or never executed. "=/>" gives a rule that is true but is
// not what the source answers: a known limit. Words of other sections follow as
// objdump -s prints them. "# import: 404018 abort" says what the dynamic linker
// stores in a word, and a label is the symbol of its address.
type listing struct {
	arch  *cpu.Arch
	mode  cpu.Mode
	lines []listingLine
	segs  []image.Segment
	entry []uint64
	// imports and labels are names by address.
	imports, labels map[uint64]string
}

type listingLine struct {
	number      int
	pc          uint64
	len         int
	text        string
	want, after string
	call        bool
	beyond      bool // a known limit
}

// parseListing reads a fixture.
func parseListing(t testing.TB, path string) *listing {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := &listing{imports: map[uint64]string{}, labels: map[uint64]string{}}
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		line := in.Text()
		switch {
		case strings.HasPrefix(line, "# arch: "):
			l.header(t, strings.Fields(line)[2:])
		case strings.HasPrefix(line, "# import: "):
			words := strings.Fields(line)
			l.imports[number(t, words[2])] = words[3]
		case line == "" || line[0] == '#':
		case strings.HasSuffix(line, ">:"):
			addr, label, _ := strings.Cut(line, " ")
			l.entry = append(l.entry, number(t, addr))
			l.labels[number(t, addr)] = strings.Trim(label, "<>:")
		case strings.Contains(line, ":\t"):
			l.instruction(t, n, line)
		default:
			l.data(t, line)
		}
	}
	if l.arch == nil || len(l.lines) == 0 || len(l.entry) == 0 {
		t.Fatal(path, ": no listing")
	}
	return l
}

func number(t testing.TB, s string) uint64 {
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// header finds the descriptor by what an ELF header of the program would say.
func (l *listing) header(t testing.TB, words []string) {
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
		t.Fatal("no descriptor for ", words)
	}
}

// instruction reads one line: "  400000:\t27bdffe8 \taddiu\tsp,sp,-24   => rule | rule".
func (l *listing) instruction(t testing.TB, n int, line string) {
	code, want, beyond := strings.Cut(line, "=/>")
	if !beyond {
		code, want, _ = strings.Cut(line, "=>")
	}
	addr, rest, _ := strings.Cut(strings.TrimSpace(code), ":\t")
	raw, text, _ := strings.Cut(rest, "\t")
	ll := listingLine{number: n, pc: number(t, addr), text: text, beyond: beyond}
	b := l.bytes(t, raw)
	ll.len = len(b)
	ll.want, ll.after, ll.call = strings.Cut(strings.TrimSpace(want), " | ")
	l.lines = append(l.lines, ll)
	l.place(ll.pc, b, true)
}

// bytes puts the units that objdump prints (bytes, halves, words) into the
// target's byte order.
func (l *listing) bytes(t testing.TB, raw string) []byte {
	var out []byte
	for _, unit := range strings.Fields(raw) {
		b, err := hex.DecodeString(unit)
		if err != nil {
			t.Fatal(err)
		}
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

// data reads a line of objdump -s, which prints bytes in their order.
func (l *listing) data(t testing.TB, line string) {
	words := strings.Fields(line)
	b, err := hex.DecodeString(strings.Join(words[1:], ""))
	if err != nil {
		t.Fatal(err)
	}
	l.place(number(t, words[0]), b, false)
}

// place appends bytes to the last segment or begins one. A hole in the text, such
// as padding that the fixture leaves out, is filled with zeros.
func (l *listing) place(addr uint64, b []byte, exec bool) {
	if n := len(l.segs); n > 0 && l.segs[n-1].Exec == exec {
		s := &l.segs[n-1]
		s.Data = append(s.Data, make([]byte, addr-s.Addr-s.Size)...)
		s.Data = append(s.Data, b...)
		s.Size = uint64(len(s.Data))
		return
	}
	l.segs = append(l.segs, image.Segment{Addr: addr, Size: uint64(len(b)), Data: b, Read: true, Exec: exec})
}

// image is the program of the listing, with or without symbols.
func (l *listing) image(symbols bool) *image.Image {
	segs := append([]image.Segment(nil), l.segs...)
	c := &functionsOnly{mode: l.mode, imports: l.imports}
	if symbols {
		c.entries, c.labels = l.entry, l.labels
	}
	return image.New(image.Header{Path: "listing", Arch: l.arch, Segments: segs}, c)
}

// functionsOnly is a container that knows where functions begin, and names.
type functionsOnly struct {
	image.Container
	entries         []uint64
	mode            cpu.Mode
	imports, labels map[uint64]string
}

func (c *functionsOnly) Section(string) (image.Section, bool) { return image.Section{}, false }

func (c *functionsOnly) SymbolAt(addr uint64) (image.Symbol, bool) {
	name, ok := c.labels[addr]
	return image.Symbol{Name: name, Addr: addr, Mode: c.mode}, ok
}

func (c *functionsOnly) Import(addr uint64) (string, bool) {
	name, ok := c.imports[addr]
	return name, ok
}

func (c *functionsOnly) Functions(yield func(uint64, cpu.Mode, uint64) bool) {
	for _, e := range c.entries {
		if !yield(e, c.mode, 0) {
			return
		}
	}
}

// query asks for the place before a line's instruction, or behind its call.
func (l *listing) query(img *image.Image, ll *listingLine, after bool) *unwind.Query {
	q := &unwind.Query{Image: img, Arch: l.arch, PC: ll.pc, Mode: l.mode, Exact: true}
	if after {
		q.Resume = ll.pc + uint64(ll.len)
		var buf [2]cpu.Insn
		if l.arch.Decoder.Decode(img.Code(ll.pc), ll.pc, l.mode, buf[:]) == 2 && buf[0].Flags&cpu.FlagDelaySlot != 0 {
			q.Resume += uint64(buf[1].Len)
		}
		q.PC, q.Exact = q.Resume-1, false
	}
	return q
}

// answers are the rules that the analysis with joins gives for a place, in their
// order.
func answers(s *Source, q *unwind.Query) (rules []string) {
	an := s.of(q.Image)
	an.mu.Lock()
	defer an.mu.Unlock()
	l := an.lookup(q)
	for q.Try = 0; ; q.Try++ {
		var r unwind.Rule
		if an.answer(q, l, &r) != unwind.Found {
			return rules
		}
		rules = append(rules, r.Format(q.Arch))
	}
}

// places calls visit for every place of a line that has an expectation.
func (l *listing) places(img *image.Image, ll *listingLine, visit func(q *unwind.Query, want string)) {
	if ll.want == "" {
		return
	}
	visit(l.query(img, ll, false), strings.TrimSpace(ll.want))
	if ll.call {
		visit(l.query(img, ll, true), strings.TrimSpace(ll.after))
	}
}

// listings are all fixtures.
func listings(t testing.TB) map[string]*listing {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no listings: ", err)
	}
	all := map[string]*listing{}
	for _, path := range files {
		all[strings.TrimSuffix(filepath.Base(path), ".txt")] = parseListing(t, path)
	}
	return all
}

// TestListings asks at every line, with the function's entry known: the first
// answer is the right one.
func TestListings(t *testing.T) {
	for name, l := range listings(t) {
		t.Run(name, func(t *testing.T) {
			s, img := New(nil), l.image(true)
			for i := range l.lines {
				ll, right := &l.lines[i], true
				l.places(img, ll, func(q *unwind.Query, want string) {
					got := answers(s, q)
					if len(got) > 0 && got[0] == want {
						return
					}
					right = false
					if !ll.beyond {
						t.Errorf("line %d: %x %s: resumed %v\n got %q\nwant %q", ll.number, ll.pc, ll.text, !q.Exact, got, want)
					}
				})
				if right && ll.beyond {
					t.Errorf("line %d: %x %s: a known limit no more", ll.number, ll.pc, ll.text)
				}
			}
		})
	}
}

// TestListingsWithoutEntries asks the same where nothing tells that a function
// begins there: only the ways out are left to tell. They cannot know constants
// that were built above the place, and find nothing where nothing returns; what
// they do answer must be right. Left out are listings with tables, whose words
// look like functions in a program of which nothing else is known, and delay
// slots, which no capture names as its PC.
func TestListingsWithoutEntries(t *testing.T) {
	var right, none, wrong int
	for name, l := range listings(t) {
		if len(l.segs) > 1 || len(l.entry) > 2 || l.beyond() {
			continue
		}
		s, img, bare := New(nil), l.image(true), l.image(false)
		for i := range l.lines {
			if i > 0 && l.hasSlot(&l.lines[i-1]) {
				continue
			}
			l.places(bare, &l.lines[i], func(q *unwind.Query, want string) {
				var st state
				f := l.stateAt(s.of(img), q, &st)
				if f == nil {
					t.Fatalf("%s %x: not reached", name, q.PC)
				}
				var r unwind.Rule
				switch {
				case s.Rule(q, &r) != unwind.Found || r.Flags&unwind.Fallback != 0:
					none++
				case f.agrees(&st, &r):
					right++
				default:
					wrong++
					t.Logf("%s %x, resumed %v: %s, want %s", name, q.PC, !q.Exact, r.Format(q.Arch), want)
				}
			})
		}
	}
	t.Logf("exits alone: right %d, no answer %d, wrong %d", right, none, wrong)
	if all := right + none + wrong; right*100 < all*88 || wrong > 1 {
		t.Errorf("of %d places %d are right and %d are wrong", all, right, wrong)
	}
}

// beyond tells whether some line is marked as a known limit.
func (l *listing) beyond() bool {
	for i := range l.lines {
		if l.lines[i].beyond {
			return true
		}
	}
	return false
}

// hasSlot tells whether the instruction of a line has a delay slot.
func (l *listing) hasSlot(ll *listingLine) bool {
	var buf [1]cpu.Insn
	return l.arch.Decoder.Decode(l.segs[0].Data[ll.pc-l.segs[0].Addr:], ll.pc, l.mode, buf[:]) == 1 && buf[0].Flags&cpu.FlagDelaySlot != 0
}

// stateAt is the state at a place by the analysis from the listing's entry.
func (l *listing) stateAt(an *analysis, q *unwind.Query, st *state) *function {
	p, ok := an.place(q)
	if !ok {
		return nil
	}
	for i := len(l.entry) - 1; i >= 0; i-- {
		if l.entry[i] > p.site {
			continue
		}
		d := derivation{an: an, place: p}
		if f := an.function(l.entry[i], l.mode); d.stateIn(f, st) {
			return f
		}
	}
	return nil
}
