package lint

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/unwind"
)

// pushes saves two registers around a call.
var pushes = codetest.Program{CPU: "x86_64", Listing: `
	401000 <pushes>:
		401000: 55               push %rbp
		401001: 53               push %rbx
		401002: 48 83 ec 18      sub $24,%rsp
		401006: 48 89 fb         mov %rdi,%rbx
		401009: e8 12 00 00 00   call 401020
		40100e: 48 01 d8         add %rbx,%rax
		401011: 48 83 c4 18      add $24,%rsp
		401015: 5b               pop %rbx
		401016: 5d               pop %rbp
		401017: c3               ret
	401020 <leaf>:
		401020: 48 89 f8         mov %rdi,%rax
		401023: c3               ret`}

// withFrames is a program with a .debug_frame of its own.
type withFrames struct {
	image.Container
	frames []byte
}

func (c withFrames) Section(name string) (image.Section, bool) {
	return image.Section{Name: name, Data: c.frames}, name == ".debug_frame"
}

func (withFrames) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (withFrames) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (withFrames) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (withFrames) Close() error                                  { return nil }

// Call frame instructions (DWARF 5 §7.24).
const (
	advance      = 0x40
	defCFA       = 0x0c
	defCFAOffset = 0x0e
	offset       = 0x80
)

// frames is a .debug_frame of x86-64 for the code from lo up to hi, with these instructions.
func frames(lo, hi uint64, instructions ...byte) []byte {
	entry := func(b []byte) []byte {
		b = append(b, make([]byte, -len(b)&7)...)
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
	cie := []byte{0xff, 0xff, 0xff, 0xff, 3, 0, 1, 0x78, 16, defCFA, 7, 8, offset | 16, 1}
	fde := binary.LittleEndian.AppendUint32(nil, 0)
	fde = binary.LittleEndian.AppendUint64(fde, lo)
	fde = binary.LittleEndian.AppendUint64(fde, hi-lo)
	return append(entry(cie), entry(append(fde, instructions...))...)
}

// right are the rows of pushes, as an assembler writes them.
func right() []byte {
	return []byte{advance | 1, defCFAOffset, 16, advance | 1, defCFAOffset, 24, advance | 4, defCFAOffset, 48,
		advance | 15, defCFAOffset, 24, advance | 1, defCFAOffset, 16, advance | 1, defCFAOffset, 8}
}

// checked are the findings on pushes with a table.
func checked(t *testing.T, table []byte) (*Report, string) {
	t.Helper()
	plain := pushes.Image(t)
	r, err := Check(t.Context(), image.New(plain.Header, withFrames{frames: table}), nil)
	if err != nil || r == nil {
		t.Fatal(r, err)
	}
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%x-%x %s; %s; %v %t\n", f.Lo, f.Hi, f.Table, f.Code, f.Evidence, f.Certain)
	}
	return r, b.String()
}

// TestRightTable: nothing is found in a table that is right, at any instruction.
func TestRightTable(t *testing.T) {
	r, found := checked(t, frames(0x401000, 0x401018, right()...))
	if found != "" || r.Places != 11 || r.Open > 0 || r.Table != unwind.MethodCFI {
		t.Errorf("%+v\n%s", r, found)
	}
}

// TestDamagedTables: each damage to a table is found where it is, and nowhere else.
func TestDamagedTables(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(rows []byte) []byte
		want   string
	}{
		"the row of a push is missing": {func(b []byte) []byte { return append([]byte{advance | 2}, b[4:]...) },
			"401001-401002 CFA=rsp+8 RA=[CFA-8]; CFA=rsp+16 RA=[CFA-8] rbp=[CFA-16]; analysis true\n"},
		"the frame's size is wrong": {func(b []byte) []byte { b[8] = 56; return b },
			"401006-40100e CFA=rsp+56 RA=[CFA-8]; CFA=rsp+48 RA=[CFA-8] rbx=[CFA-24] rbp=[CFA-16]; analysis true\n" +
				"40100e-401015 CFA=rsp+56 RA=[CFA-8]; CFA=rsp+48; return true\n"},
		"the epilogue has no rows": {func(b []byte) []byte { return b[:len(b)-3] },
			"401017-401018 CFA=rsp+16 RA=[CFA-8]; CFA=rsp+8; return true\n"},
	} {
		if _, found := checked(t, frames(0x401000, 0x401018, c.damage(right())...)); found != c.want {
			t.Errorf("%s:\n%swant\n%s", name, found, c.want)
		}
	}
}

// TestOneDescription: one row for all code, as Dart writes it, is right where a function has set the register that the row
// names, and wrong at the functions' entries and returns, where that register is the caller's.
func TestOneDescription(t *testing.T) {
	p := codetest.Program{CPU: "x86_64", Listing: `
	401000 <outer>:
		401000: 55               push %rbp
		401001: 48 89 e5         mov %rsp,%rbp
		401004: e8 17 00 00 00   call 401020
		401009: 48 89 ec         mov %rbp,%rsp
		40100c: 5d               pop %rbp
		40100d: c3               ret
	401020 <inner>:
		401020: 55               push %rbp
		401021: 48 89 e5         mov %rsp,%rbp
		401024: 5d               pop %rbp
		401025: c3               ret`}
	plain := p.Image(t)
	table := frames(0x401000, 0x401026, defCFA, 6, 16, offset|6, 2)
	r, err := Check(t.Context(), image.New(plain.Header, withFrames{frames: table}), nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%x-%x %s %t\n", f.Lo, f.Hi, f.Code, f.Certain)
	}
	want := "" +
		"401020-401021 CFA=rsp+8 RA=[CFA-8] true\n" +
		"401021-401024 CFA=rsp+16 RA=[CFA-8] rbp=[CFA-16] true\n" +
		"401025-401026 CFA=rsp+8 RA=[CFA-8] true\n"
	if b.String() != want {
		t.Errorf("%swant\n%s", b.String(), want)
	}
}

// FuzzCheck: no table, however malformed, ends the comparison otherwise than with a report.
func FuzzCheck(f *testing.F) {
	f.Add(frames(0x401000, 0x401018, right()...))
	f.Add(append(frames(0x401000, ^uint64(0)), frames(0x401000, 0x401018, right()...)...))
	plain := pushes.Image(f)
	f.Fuzz(func(t *testing.T, table []byte) {
		if _, err := Check(t.Context(), image.New(plain.Header, withFrames{frames: table}), nil); err != nil {
			t.Error(err)
		}
	})
}
