package elf

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// withSymbols is an image with code at 0x1000–0x1100 (section 1), data at
// 0x2000–0x2100 (section 2) and these symbols.
func withSymbols(t testing.TB, e build, list ...tsym) *image.Image {
	t.Helper()
	return withCode(t, 0x1000, e, list...)
}

// withCode is withSymbols with the code elsewhere.
func withCode(t testing.TB, code uint64, e build, list ...tsym) *image.Image {
	t.Helper()
	e.secs = append([]sec{
		text(code, 0x100),
		{name: ".data", flags: shfAlloc | shfWrite, addr: 0x2000, data: make([]byte, 0x100)},
	}, e.symtab(".symtab", ".strtab", list...)...)
	return parse(t, e.bytes())
}

// TestSymbolAt: which symbol names an address, where sizes, order and kinds of symbols compete.
func TestSymbolAt(t *testing.T) {
	type q struct {
		addr uint64
		want string // "" for none
	}
	for _, tt := range []struct {
		name string
		syms []tsym
		ask  []q
	}{
		{"sizes bound symbols", []tsym{
			{name: "f", value: 0x1000, size: 16, info: globalFunc, shndx: 1},
			{name: "g", value: 0x1020, size: 16, info: localFunc, shndx: 1},
		}, []q{{0xfff, ""}, {0x1000, "f"}, {0x100f, "f"}, {0x1010, ""}, {0x1020, "g"}, {0x1030, ""}}},

		{"without sizes to the next symbol and the section's end", []tsym{
			{name: "g", value: 0x1020, info: globalFunc, shndx: 1},
			{name: "f", value: 0x1010, info: globalFunc, shndx: 1},
		}, []q{{0x100f, ""}, {0x101f, "f"}, {0x1020, "g"}, {0x10ff, "g"}, {0x1100, ""}}},

		{"an unsized symbol does not show behind a sized one", []tsym{
			{name: "start", value: 0x1000, info: globalFunc, shndx: 1},
			{name: "f", value: 0x1010, size: 16, info: globalFunc, shndx: 1},
			{name: "alias", value: 0x1010, info: globalFunc, shndx: 1},
		}, []q{{0x100f, "start"}, {0x1010, "f"}, {0x101f, "f"}, {0x1020, ""}}},

		{"global before weak before local", []tsym{
			{name: "local", value: 0x1000, size: 16, info: localFunc, shndx: 1},
			{name: "global", value: 0x1000, size: 16, info: globalFunc, shndx: 1},
			{name: "weak", value: 0x1000, size: 16, info: weakFunc, shndx: 1},
			{name: "alias", value: 0x1010, size: 16, info: localFunc, shndx: 1},
			{name: "weakalias", value: 0x1010, size: 16, info: weakFunc, shndx: 1},
		}, []q{{0x1004, "global"}, {0x1014, "weakalias"}}},

		{"a longer symbol goes on where a better one ends", []tsym{
			{name: "long", value: 0x1000, size: 32, info: localFunc, shndx: 1},
			{name: "short", value: 0x1000, size: 16, info: globalFunc, shndx: 1},
		}, []q{{0x1000, "short"}, {0x1010, "long"}, {0x1020, ""}}},

		{"inner functions name their own range", []tsym{
			{name: "outer", value: 0x1000, size: 0x40, info: globalFunc, shndx: 1},
			{name: "inner", value: 0x1010, size: 16, info: localFunc, shndx: 1},
			{name: "label", value: 0x1030, info: asmLabel, shndx: 1},
		}, []q{{0x1008, "outer"}, {0x1018, "inner"}, {0x1028, "outer"}, {0x1034, "outer"}, {0x1040, ""}}},

		{"overlapping functions", []tsym{
			{name: "a", value: 0x1000, size: 0x20, info: globalFunc, shndx: 1},
			{name: "b", value: 0x1010, size: 0x20, info: globalFunc, shndx: 1},
		}, []q{{0x100f, "a"}, {0x1010, "b"}, {0x102f, "b"}, {0x1030, ""}}},

		{"among aliases the unversioned, then the shortest global name", []tsym{
			{name: "__libc_malloc@@GLIBC_2.2.5", value: 0x1000, size: 16, info: globalFunc, shndx: 1},
			{name: "__malloc", value: 0x1000, size: 16, info: globalFunc, shndx: 1},
			{name: "malloc", value: 0x1000, size: 16, info: globalFunc, shndx: 1},
			{name: "m", value: 0x1000, size: 16, info: localFunc, shndx: 1},
			{name: "f@V1", value: 0x1010, size: 16, info: globalFunc, shndx: 1},
			{name: "create@@V2", value: 0x1010, size: 16, info: globalFunc, shndx: 1},
			{name: "@odd", value: 0x1020, size: 16, info: globalFunc, shndx: 1},
		}, []q{{0x1004, "malloc"}, {0x1014, "create"}, {0x1024, "@odd"}}},

		{"untyped labels in code only", []tsym{
			{name: "label", value: 0x1000, info: localLabel, shndx: 1},
			{name: "table", value: 0x2000, info: asmLabel, shndx: 2},
			{name: "constant", value: 0x1020, info: asmLabel, shndx: 0xfff1},
			{name: "var", value: 0x1030, size: 4, info: object, shndx: 1},
			{name: "extern", value: 0x1040, info: globalFunc},
		}, []q{{0x1000, "label"}, {0x1020, "label"}, {0x1050, "label"}, {0x2000, ""}}},

		{"marks are not names", []tsym{
			{name: "f", value: 0x1000, info: globalFunc, shndx: 1},
			{name: "$a", value: 0x1008, info: localLabel, shndx: 1},
			{name: "$d.1", value: 0x1010, info: localLabel, shndx: 1},
			{name: ".L17", value: 0x1018, info: localLabel, shndx: 1},
			{value: 0x1020, info: localFunc, shndx: 1},
		}, []q{{0x1009, "f"}, {0x1011, "f"}, {0x1019, "f"}, {0x1021, "f"}}},

		{"a size that wraps reaches to the end", []tsym{
			{name: "f", value: 0x1000, size: ^uint64(0), info: globalFunc, shndx: 1},
			{name: "g", value: 0x1010, size: 16, info: globalFunc, shndx: 1},
		}, []q{{0x1000, "f"}, {0x1010, "g"}, {0x1020, "f"}, {1 << 40, "f"}}},
	} {
		img := withSymbols(t, build{wide: true}, tt.syms...)
		for _, q := range tt.ask {
			if s, ok := img.Symbols.At(q.addr); s.Name != q.want || ok != (q.want != "") {
				t.Errorf("%s: SymbolAt(%#x) = %q, want %q", tt.name, q.addr, s.Name, q.want)
			}
		}
	}
}

func TestModeOfSymbols(t *testing.T) {
	mips := build{machine: emMIPS, big: true}
	for _, tt := range []struct {
		name string
		e    build
		sym  tsym
		addr uint64
		mode cpu.Mode
	}{
		{"ARM", build{machine: emARM}, tsym{value: 0x1010, info: globalFunc}, 0x1010, 0},
		{"Thumb", build{machine: emARM}, tsym{value: 0x1011, info: globalFunc}, 0x1010, 1},
		{"old Thumb type", build{machine: emARM}, tsym{value: 0x1010, info: stbGlobal<<4 | sttARMFunc}, 0x1010, 1},
		{"MIPS", mips, tsym{value: 0x1010, info: globalFunc}, 0x1010, 0},
		{"MIPS16", mips, tsym{value: 0x1010, info: globalFunc, other: 0xf0}, 0x1010, 1},
		{"microMIPS", mips, tsym{value: 0x1011, info: globalFunc, other: 0x80}, 0x1010, 1},
		{"MIPS PIC", mips, tsym{value: 0x1010, info: globalFunc, other: 0x20}, 0x1010, 0},
		{"x86", build{}, tsym{value: 0x1011, info: globalFunc}, 0x1011, 0},
	} {
		tt.sym.name, tt.sym.size, tt.sym.shndx = "f", 16, 1
		img := withSymbols(t, tt.e, tt.sym)
		at, _ := img.Symbols.At(tt.addr + 4)
		named, _ := img.Symbols.Named("f")
		want := image.Symbol{Name: "f", Addr: tt.addr, Mode: tt.mode, Size: 16}
		if at != want || named != want {
			t.Errorf("%s: %+v and %+v, want %+v", tt.name, at, named, want)
		}
	}
}

func TestSymbolNamed(t *testing.T) {
	img := withSymbols(t, build{big: true, machine: emMIPS},
		tsym{name: "both", value: 0x1010, info: localFunc, shndx: 1},
		tsym{name: "both", value: 0x1020, info: globalFunc, shndx: 1},
		tsym{name: "both", value: 0x1030, info: weakFunc, shndx: 1},
		tsym{name: "var", value: 0x2001, size: 4, info: object, shndx: 2},
		tsym{name: "extern", value: 0x1040, info: globalFunc},
		tsym{name: "tls", value: 8, info: stbGlobal<<4 | 6, shndx: 2},
		tsym{name: "copy@V1", value: 0x1050, info: globalFunc, shndx: 1},
		tsym{name: "copy@@V2", value: 0x1060, info: globalFunc, shndx: 1},
	)
	for round := range 3 { // the first answers come without the index
		for name, want := range map[string]uint64{"both": 0x1020, "var": 0x2001, "extern": 0, "tls": 0, "bot": 0, "bothx": 0, "": 0, "copy": 0x1060, "cop": 0} {
			if s, ok := img.Symbols.Named(name); s.Addr != want || ok != (want != 0) {
				t.Errorf("round %d: SymbolNamed(%q) = %+v, %t", round, name, s, ok)
			}
		}
	}
}

// What Functions yields are entries: not the end mark of a jump table, not a
// branch target, not a Thumb label whose mode nobody knows.
func TestFunctions(t *testing.T) {
	syms := []tsym{
		{name: "swt", value: 0x1000, size: 0x40, info: globalFunc, shndx: 1},
		{name: "__jend_swt_140", value: 0x1020, info: localFunc, shndx: 1},
		{name: "frame_dummy", value: 0x1050, info: localFunc, shndx: 1},
		{name: "loop", value: 0x1060, info: localLabel, shndx: 1},
		{name: "_start", value: 0x1070, info: asmLabel, shndx: 1},
	}
	for machine, want := range map[uint16][]uint64{
		emMIPS: {0x1000, 0x1050, 0x1070},
		emARM:  {0x1000, 0x1050},
	} {
		img := withSymbols(t, build{machine: machine}, syms...)
		var got []uint64
		img.Symbols.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
			got = append(got, addr)
			return true
		})
		if len(got) != len(want) || got[0] != want[0] || got[len(got)-1] != want[len(want)-1] {
			t.Errorf("machine %d: Functions = %#x, want %#x", machine, got, want)
		}
		n := 0
		img.Symbols.Functions(func(uint64, cpu.Mode, uint64) bool { n++; return false })
		if n != 1 {
			t.Errorf("yield was called %d times after it returned false", n-1)
		}
	}
}

// A file without section headers has its dynamic symbols; how many there are,
// only the hash tables tell (or DT_MIPS_SYMTABNO, or the distance to the strings).
func TestDynamicSymbols(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    build
		tags []uint64 // tag, value pairs besides SYMTAB, STRTAB and STRSZ
		hash []uint32
	}{
		{"DT_HASH", build{wide: true}, []uint64{dtHash, 0x5000}, []uint32{1, 3, 1, 0, 0, 0}},
		// one bucket that begins at symbol 1, one bloom word, chain 1 (even), 2 (odd: the end)
		{"DT_GNU_HASH", build{wide: true}, []uint64{dtGNUHash, 0x5000}, []uint32{1, 1, 1, 0, 0, 0, 1, 8, 9}},
		{"DT_GNU_HASH, 32 bits", build{}, []uint64{dtGNUHash, 0x5000}, []uint32{1, 1, 1, 0, 0, 1, 8, 9}},
		{"DT_MIPS_SYMTABNO", build{big: true, machine: emMIPS}, []uint64{dtMIPSSymtabno, 3}, nil},
		{"strings behind symbols", build{}, nil, nil},
	} {
		e := tt.e
		e.typ, e.noSections = etDyn, true
		tables := e.symtab("syms", "strs",
			tsym{name: "f", value: 0x1000, size: 16, info: globalFunc, shndx: 1},
			tsym{name: "g", value: 0x1010, size: 16, info: weakFunc, shndx: 1})
		dyn, hash := e.buf(), e.buf()
		tables[0].flags, tables[0].addr = shfAlloc, 0x3000
		tables[1].flags, tables[1].addr = shfAlloc, 0x3000+uint64(len(tables[0].data))
		dyn.word(dtSymtab, tables[0].addr, dtStrtab, tables[1].addr, dtStrsz, uint64(len(tables[1].data)))
		dyn.word(tt.tags...)
		dyn.word(0, 0)
		hash.u32(tt.hash...)
		e.secs = append(tables, text(0x1000, 0x100),
			sec{name: "dynamic", flags: shfAlloc, addr: 0x4000, data: dyn.b},
			sec{name: "hash", flags: shfAlloc, addr: 0x5000, data: hash.b})
		e.phdrs = []ph{{ptDynamic, "dynamic"}}
		img := parse(t, e.bytes())
		for addr, want := range map[uint64]string{0x1004: "f", 0x1014: "g", 0x1024: ""} {
			if s, _ := img.Symbols.At(addr); s.Name != want {
				t.Errorf("%s: SymbolAt(%#x) = %q, want %q", tt.name, addr, s.Name, want)
			}
		}
	}
}

// TestExported: where a file names nothing but what it exports, no symbol tells how far one without a size reaches.
func TestExported(t *testing.T) {
	for _, tables := range [][]string{{".dynsym"}, {".dynsym", ".symtab"}} {
		e := build{wide: true, typ: etDyn}
		e.secs = []sec{text(0x1000, 0x100)}
		for _, name := range tables {
			e.secs = append(e.secs, e.symtab(name, name+"str",
				tsym{name: "memset", value: 0x1000, info: globalFunc, shndx: 1},
				tsym{name: "read", value: 0x1080, size: 16, info: globalFunc, shndx: 1})...)
		}
		img := parse(t, e.bytes())
		unsized, _ := img.Symbols.At(0x1044)
		sized, _ := img.Symbols.At(0x1084)
		if unsized.Name != "memset" || unsized.Exported != (len(tables) == 1) || sized.Name != "read" || sized.Exported {
			t.Errorf("%q: %+v, %+v", tables, unsized, sized)
		}
	}
}

func TestSymbolAtAllocatesTheNameOnly(t *testing.T) {
	img := withSymbols(t, build{}, tsym{name: "a_function", value: 0x1000, size: 16, info: globalFunc, shndx: 1})
	img.Symbols.At(0x1000)
	if n := testing.AllocsPerRun(100, func() { img.Symbols.At(0x1008) }); n > 1 {
		t.Errorf("SymbolAt allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { img.Symbols.At(0x1080) }); n > 0 {
		t.Errorf("a miss allocates %v times", n)
	}
}

// TestNamesOfOneString: a million symbols whose names are the ends of one long string are not all
// read; the first names are found.
func TestNamesOfOneString(t *testing.T) {
	const long, n = 60_000, 2000
	e := build{wide: true}
	list := make([]tsym, n)
	for i := range list {
		list[i] = tsym{name: "f", value: 0x1000, size: 1, info: globalFunc, shndx: 1}
	}
	tables := e.symtab(".symtab", ".strtab", list...)
	tables[1].data = append(append([]byte{0}, bytes.Repeat([]byte{'x'}, long)...), 0)
	for i := range list {
		binary.LittleEndian.PutUint32(tables[0].data[24*(i+1):], uint32(1+i))
	}
	e.secs = append([]sec{text(0x1000, 16)}, tables...)
	x := newNames(parse(t, e.bytes()).Container().(*container).tables())
	if err := x.read.Err(); err == nil || x.read.Left() < 0 {
		t.Errorf("%d bytes are left; %v", x.read.Left(), err)
	}
	if x.refs[x.slot(bytes.Repeat([]byte{'x'}, long))] == noRef {
		t.Error("the first name is not found")
	}
}

// TestFunctionAt: symbols with sizes bound functions; a size that is a lie does not lead around the end of the address space.
func TestFunctionAt(t *testing.T) {
	img := withSymbols(t, build{wide: true},
		tsym{name: "f", value: 0x1000, size: 16, info: globalFunc, shndx: 1},
		tsym{name: "unsized", value: 0x1020, info: globalFunc, shndx: 1},
		tsym{name: "endless", value: 0x1040, size: ^uint64(0), info: globalFunc, shndx: 1})
	for addr, want := range map[uint64][2]uint64{0x1004: {0x1000, 0x1010}, 0x1010: {}, 0x1024: {}, 0x1050: {0x1040, ^uint64(0)}} {
		lo, hi, _, ok := img.Symbols.FunctionAt(addr)
		if ok != (want[1] != 0) || ok && (lo != want[0] || hi != want[1]) {
			t.Errorf("%#x: %#x to %#x, %t", addr, lo, hi, ok)
		}
	}
}
