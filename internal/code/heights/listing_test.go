package heights

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/x86"
)

// arch is a processor with little-endian code.
func arch(t testing.TB, name string) *cpu.Arch {
	t.Helper()
	for _, set := range [][]*cpu.Arch{x86.Archs(), arm.Archs(), arm64.Archs(), mips.Archs()} {
		if a, ok := cpu.Set(set).ByName(name, "", false); ok {
			return a
		}
	}
	t.Fatal("no processor ", name)
	return nil
}

// listing is code as objdump prints it, each line with what the table says before the
// instruction and, behind "|", while the function waits for the return of a call there:
//
//	1000 <f>:
//	1000:	53              	push %rbx    => 0
//	1001:	e8 0a 00 00 00  	call 1010    => -8 rbx=[-8] | -8 rbx=[-8]
//
// First comes the height of SP, then the height of the slot of each register that has
// another value than on entry, "?" if nobody knows. "none": the table says nothing.
type listing struct {
	img   *image.Image
	lines []line
}

type line struct {
	pc, end     uint64
	want, waits string
}

// parse reads a listing. A label is a function of which the image's symbols tell.
func parse(t testing.TB, a *cpu.Arch, text string) *listing {
	t.Helper()
	l, symbols := &listing{}, &symbols{}
	seg := image.Segment{Read: true, Exec: true}
	for _, s := range strings.Split(strings.TrimSpace(text), "\n") {
		address, rest, _ := strings.Cut(strings.TrimSpace(s), ":")
		address, label, labelled := strings.Cut(address, " <")
		pc, err := strconv.ParseUint(address, 16, 64)
		if err != nil {
			t.Fatal(s, label, err)
		}
		if labelled {
			symbols.entries = append(symbols.entries, pc)
			continue
		}
		if seg.Addr == 0 {
			seg.Addr = pc
		}
		code := units(t, strings.Split(rest, "\t")[1])
		seg.Data = append(seg.Data, make([]byte, pc-seg.Addr-uint64(len(seg.Data)))...)
		seg.Data = append(seg.Data, code...)
		_, want, _ := strings.Cut(rest, "=>")
		want, waits, _ := strings.Cut(want, "|")
		l.lines = append(l.lines, line{pc, pc + uint64(len(code)), strings.TrimSpace(want), strings.TrimSpace(waits)})
	}
	seg.Size = uint64(len(seg.Data))
	l.img = image.New(image.Header{Path: "listing", Arch: a, Segments: []image.Segment{seg}}, symbols)
	return l
}

// units reads the bytes or words of an instruction.
func units(t testing.TB, raw string) (code []byte) {
	t.Helper()
	for _, unit := range strings.Fields(raw) {
		b, err := hex.DecodeString(unit)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(b)
		code = append(code, b...)
	}
	return code
}

// symbols is a container that knows where functions begin.
type symbols struct {
	image.Container
	entries []uint64
}

func (*symbols) Section(string) (image.Section, bool) { return image.Section{}, false }
func (*symbols) SymbolAt(uint64) (image.Symbol, bool) { return image.Symbol{}, false }
func (*symbols) Import(uint64) (string, bool)         { return "", false }
func (c *symbols) Functions(yield func(uint64, cpu.Mode, uint64) bool) {
	for _, e := range c.entries {
		if !yield(e, 0, 0) {
			return
		}
	}
}

// tables are those of the listing.
func (l *listing) tables() *Tables {
	c := disasm.Of(l.img)
	return New(c, discover.New(c, nil))
}

// table is that of the first function.
func (l *listing) table() *Table { return l.tables().Of(disasm.Addr{PC: l.lines[0].pc}) }

// check compares what the first table that says something of an address tells with what
// stands in the listing.
func (l *listing) check(t *testing.T, tables ...*Table) {
	t.Helper()
	for _, ln := range l.lines {
		if got := l.told(tables, ln.pc); ln.want != "" && got != ln.want {
			t.Errorf("before %x: %s, want %s", ln.pc, got, ln.want)
		}
		if got := l.told(tables, ln.end-1); ln.waits != "" && got != ln.waits {
			t.Errorf("waiting at %x: %s, want %s", ln.pc, got, ln.waits)
		}
	}
}

// told is what tables say of an address, in the words of a listing.
func (l *listing) told(tables []*Table, pc uint64) string {
	for _, table := range tables {
		if table == nil {
			continue
		}
		if f := table.At(pc); f != nil {
			return format(table, f, l.img.Arch)
		}
	}
	return "none"
}

func format(table *Table, f *SavedRegs, a *cpu.Arch) string {
	s := strconv.Itoa(int(f.SP))
	for set := a.Preserved.With(a.LR) &^ f.Kept; set != 0; set &= set - 1 {
		r := set.First()
		if f.Saved.Has(r) {
			s += fmt.Sprintf(" %s=[%d]", a.RegName(r), table.SlotOf(f, r))
		} else {
			s += fmt.Sprintf(" %s=?", a.RegName(r))
		}
	}
	return s
}
