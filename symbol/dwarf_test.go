package symbol_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/synth/meter"
	"github.com/backsight/backsight/symbol"
)

// sections is a container of DWARF sections without a symbol table.
type sections map[string][]byte

func (s sections) Section(name string) (image.Section, bool) {
	data, ok := s[name]
	return image.Section{Name: name, Data: data}, ok
}
func (sections) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (sections) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (sections) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (sections) Close() error                                  { return nil }

// text is where the code of the hand-made files lies.
const text = 0x1000

func fileOf(t testing.TB, s image.Container) *image.Image {
	t.Helper()
	arch, ok := cpu.Set(x86.Archs()).ByName("x86_64", "", false)
	if !ok {
		t.Fatal("no x86_64")
	}
	code := image.Segment{Addr: text, Size: 0x1000, Data: make([]byte, 0x1000), Read: true, Exec: true}
	return image.New(image.Header{Arch: arch, Segments: []image.Segment{code}}, s)
}

// b is bytes being written.
type b []byte

func (w b) u8(v ...byte) b     { return append(w, v...) }
func (w b) u16(v uint16) b     { return binary.LittleEndian.AppendUint16(w, v) }
func (w b) u32(v int) b        { return binary.LittleEndian.AppendUint32(w, uint32(v)) }
func (w b) u64(v uint64) b     { return binary.LittleEndian.AppendUint64(w, v) }
func (w b) cstring(s string) b { return append(append(w, s...), 0) }
func (w b) sized(content b) b  { return append(w.u32(len(content)), content...) }

// Abbreviations: 1 unit, 2 function with code, 3 function that was inlined, 4
// inlined call, 5 lexical block.
var abbrev = b{
	1, 0x11, 1, 0x03, 0x08, 0x1b, 0x08, 0x11, 0x01, 0x12, 0x06, 0x10, 0x17, 0, 0, // name, comp_dir, low_pc, high_pc, stmt_list
	2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0, // name, low_pc, high_pc
	3, 0x2e, 0, 0x03, 0x08, 0, 0, // name
	4, 0x1d, 1, 0x31, 0x13, 0x11, 0x01, 0x12, 0x06, 0x58, 0x0b, 0x59, 0x0b, 0, 0, // abstract_origin, low_pc, high_pc, call_file, call_line
	5, 0x0b, 1, 0, 0,
	0,
}

// handMade is this program at 0x1000; inner and middle are inlined:
//
//	6  inner:  …        0x1018 to 0x1020
//	10 middle: inner()  0x1010 to 0x1030, calls inner in line 11
//	20 outer:  middle() 0x1000 to 0x1040, calls middle in line 21
func handMade() sections {
	body := b{}.u16(5).u8(1, 8).u32(0) // version, DW_UT_compile, address_size, abbreviations
	at := func() int { return 4 + len(body) }
	body = body.u8(1).cstring("main.c").cstring("/src").u64(text).u32(0x100).u32(0)
	inner := at()
	body = body.u8(3).cstring("inner")
	middle := at()
	body = body.u8(3).cstring("middle")
	body = body.u8(2).cstring("outer").u64(text).u32(0x40)
	body = body.u8(4).u32(middle).u64(text+0x10).u32(0x20).u8(0, 21)
	body = body.u8(5)
	body = body.u8(4).u32(inner).u64(text+0x18).u32(8).u8(1, 11)
	body = body.u8(0, 0, 0, 0, 0)
	return sections{".debug_abbrev": abbrev, ".debug_info": b{}.sized(body), ".debug_line": lines()}
}

// lines is the line table: directories /src and include below it, files main.c and
// include/inner.h.
func lines() b {
	header := b{}.u8(1, 1, 1, 0xfb, 14, 13).u8(0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
	header = header.u8(1, 1, 0x08, 2).cstring("/src").cstring("include")
	header = header.u8(2, 1, 0x08, 2, 0x0b, 2).cstring("main.c").u8(0).cstring("inner.h").u8(1)
	program := b{}.u8(0, 9, 2).u64(text).u8(4, 0, 3, 19, 1) // set_address, file 0, line 20
	row := func(file, advance, line byte) {
		program = program.u8(2, advance, 4, file, 3, line&0x7f, 1)
	}
	row(0, 0x10, 0x80-10) // 0x1010: main.c:10
	row(1, 8, 0x80-4)     // 0x1018: inner.h:6
	row(0, 8, 5)          // 0x1020: main.c:11
	row(0, 0x10, 10)      // 0x1030: main.c:21
	program = program.u8(2, 0x10, 0, 1, 1)
	return b{}.sized(append(b{}.u16(5).u8(8, 0).sized(header), program...))
}

// describe writes a location in a line.
func describe(l symbol.Location) (s string) {
	for _, in := range l.Inlines {
		s += fmt.Sprintf("%s %s:%d in ", in.Function, in.File, in.Line)
	}
	return s + fmt.Sprintf("%s@%x %s:%d", l.Function, l.Entry, l.File, l.Line)
}

// TestInlined: the chain of inlined calls at an address, each with its own line.
func TestInlined(t *testing.T) {
	img := fileOf(t, handMade())
	var names symbol.Symbolizer
	for _, c := range []struct {
		addr uint64
		want string
	}{
		{text - 1, "@0 :0"},
		{text, "outer@1000 /src/main.c:20"},
		{text + 0x10, "middle /src/main.c:10 in outer@1000 /src/main.c:21"},
		{text + 0x18, "inner /src/include/inner.h:6 in middle /src/include/inner.h:11 in outer@1000 /src/main.c:21"},
		{text + 0x1f, "inner /src/include/inner.h:6 in middle /src/include/inner.h:11 in outer@1000 /src/main.c:21"},
		{text + 0x20, "middle /src/main.c:11 in outer@1000 /src/main.c:21"},
		{text + 0x3f, "outer@1000 /src/main.c:21"},
		{text + 0x40, "@0 :0"},
	} {
		if got := describe(names.Lookup(of(img), c.addr)); got != c.want {
			t.Errorf("%#x: %s, want %s", c.addr, got, c.want)
		}
	}
}

// TestFunctionsInTypes: rustc puts methods into their types. In C there are none to look for.
func TestFunctionsInTypes(t *testing.T) {
	abbrev := b{
		1, 0x11, 1, 0x13, 0x05, 0x11, 0x01, 0x12, 0x06, 0, 0, // unit: language, low_pc, high_pc
		2, 0x13, 1, 0, 0, // structure
		3, 0x2e, 0, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0, // function: name, low_pc, high_pc
		0,
	}
	for lang, want := range map[uint16]string{0x1c: "method@1000 :0", 0x1d: "@0 :0"} { // Rust, C11
		body := b{}.u16(5).u8(1, 8).u32(0).u8(1).u16(lang).u64(text).u32(0x40)
		body = body.u8(2).u8(3).cstring("method").u64(text).u32(0x20).u8(0)
		body = body.u8(3).cstring("function").u64(text + 0x20).u32(0x20).u8(0)
		img := fileOf(t, sections{".debug_abbrev": abbrev, ".debug_info": b{}.sized(body)})
		var names symbol.Symbolizer
		if got := describe(names.Lookup(of(img), text)); got != want {
			t.Errorf("language %#x: %s, want %s", lang, got, want)
		}
		if got, want := describe(names.Lookup(of(img), text+0x20)), "function@1020 :0"; got != want {
			t.Errorf("language %#x: %s, want %s", lang, got, want)
		}
	}
}

// TestAranges: a unit that .debug_aranges lists is found by it alone.
func TestAranges(t *testing.T) {
	s := handMade()
	s[".debug_aranges"] = b{}.sized(b{}.u16(2).u32(0).u8(8, 0).u32(0).u64(text).u64(0x20).u64(0).u64(0))
	img := fileOf(t, s)
	var names symbol.Symbolizer
	for addr, want := range map[uint64]string{
		text + 0x1f: "inner /src/include/inner.h:6 in middle /src/include/inner.h:11 in outer@1000 /src/main.c:21",
		text + 0x20: "@0 :0",
	} {
		if got := describe(names.Lookup(of(img), addr)); got != want {
			t.Errorf("%#x: %s, want %s", addr, got, want)
		}
	}
}

// TestUnitAlone: a unit that .debug_aranges names is read by itself, whatever stands
// around it: here, before it, a unit whose length is a lie, and abbreviations.
func TestUnitAlone(t *testing.T) {
	s := handMade()
	lie := b{}.u32(0x7fff_0000).u16(5).u8(1, 8).u32(0)
	before := b{7, 0x34, 0, 0, 0, 0}
	info := append(b{}, s[".debug_info"]...)
	info[8] = byte(len(before)) // debug_abbrev_offset
	s[".debug_info"] = append(lie, info...)
	s[".debug_abbrev"] = append(before, abbrev...)
	s[".debug_aranges"] = b{}.sized(b{}.u16(2).u32(len(lie)).u8(8, 0).u32(0).u64(text).u64(0x40).u64(0).u64(0))
	var names symbol.Symbolizer
	const want = "inner /src/include/inner.h:6 in middle /src/include/inner.h:11 in outer@1000 /src/main.c:21"
	if got := describe(names.Lookup(of(fileOf(t, s)), text+0x18)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// linked is a program whose linker made a PLT at 0x1800. read notes the sections that are asked for.
type linked struct {
	sections
	read map[string]bool
}

func (l linked) Section(name string) (image.Section, bool) {
	if name == ".plt" {
		return image.Section{Name: name, Addr: text + 0x800, Data: make([]byte, 0x20)}, true
	}
	l.read[name] = true
	return l.sections.Section(name)
}

// TestLinkersCode: no unit describes what the linker made, and none is read to find that out.
func TestLinkersCode(t *testing.T) {
	for addr, reads := range map[uint64]bool{text + 0x7ff: true, text + 0x800: false, text + 0x81f: false, text + 0x820: true} {
		program := linked{handMade(), map[string]bool{}}
		var names symbol.Symbolizer
		if got := describe(names.Lookup(of(fileOf(t, program)), addr)); got != "@0 :0" || program.read[".debug_abbrev"] != reads {
			t.Errorf("%#x: %s, .debug_abbrev was read: %t", addr, got, program.read[".debug_abbrev"])
		}
	}
}

// TestDamaged: whatever bit of any section is wrong, and wherever it ends, every
// lookup returns; most damage costs no more than what it hits.
func TestDamaged(t *testing.T) {
	whole := handMade()
	var names symbol.Symbolizer
	for name, data := range whole {
		for i := range len(data) * 9 {
			broken := sections{}
			for n, d := range whole {
				broken[n] = d
			}
			d := append([]byte(nil), data...)
			if k := i / 9; i%9 == 8 {
				d = d[:k]
			} else {
				d[k] ^= 1 << (i % 9)
			}
			broken[name] = d
			img := fileOf(t, broken)
			for addr := uint64(text); addr < text+0x48; addr += 8 {
				names.Lookup(of(img), addr)
			}
		}
	}
}

// TestOverlappingAbbreviations: units that each begin their abbreviations a few
// bytes further on in one table would be parsed in the square of its size.
func TestOverlappingAbbreviations(t *testing.T) {
	table := make(b, 0, 3<<20)
	for range 1 << 20 {
		table = table.u8(1, 0x2e, 0).u8(0, 0)
	}
	info := b{}
	for i := range 1 << 16 {
		info = info.sized(b{}.u16(4).u32(5*i).u8(8, 1))
	}
	img := fileOf(t, sections{".debug_abbrev": table.u8(0), ".debug_info": info, ".debug_line": lines()})
	var names symbol.Symbolizer
	if got := describe(names.Lookup(of(img), text)); got != "@0 :0" {
		t.Error(got)
	}
}

func FuzzDWARF(f *testing.F) {
	s := handMade()
	f.Add(s[".debug_abbrev"], s[".debug_info"], s[".debug_line"], []byte(nil), uint64(0x18))
	aranges := b{}.sized(b{}.u16(2).u32(0).u8(8, 0).u32(0).u64(text).u64(0x40).u64(0).u64(0))
	f.Add(s[".debug_abbrev"], s[".debug_info"], s[".debug_line"], []byte(aranges), uint64(0x1018))
	// Abbreviations without an end, and behind the unit the begin of a length of 64 bits.
	unended := append(append(b{}, s[".debug_info"]...), 0xff, 0xff, 0xff, 0xff)
	f.Add([]byte(abbrev[:len(abbrev)-3]), []byte(unended), s[".debug_line"], []byte(nil), uint64(0x18))
	alt := append(b{}, abbrev...)
	alt[len(alt)-8], alt[len(alt)-7] = 0x1c, 0x1d // whatever is there: forms of a supplementary file
	f.Add([]byte(alt), s[".debug_info"], s[".debug_line"], []byte(nil), uint64(0x18))
	f.Fuzz(func(t *testing.T, abbrev, info, line, aranges []byte, at uint64) {
		s := sections{".debug_abbrev": abbrev, ".debug_info": info, ".debug_line": line, ".debug_aranges": aranges}
		img := fileOf(t, shared{s, s})
		var names symbol.Symbolizer
		meter.Allocations(t, len(abbrev)+len(info)+len(line)+len(aranges), func() {
			if at&0x1000 != 0 {
				_ = names.Prepare(t.Context(), all(img))
			}
			if l := names.Lookup(of(img), text+at%0x1000); l.Line < 0 {
				t.Errorf("line %d", l.Line)
			}
		})
	})
}
