package elf

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
)

// trel is a relocation.
type trel struct {
	off      uint64
	sym, typ uint32
	addend   uint64
}

func (e *build) relocations(rela bool, list ...trel) []byte {
	b := e.buf()
	for _, r := range list {
		b.word(r.off)
		switch {
		case !e.wide:
			b.u32(r.sym<<8 | r.typ)
		case e.machine == emMIPS:
			b.u32(r.sym)
			b.b = append(b.b, 0, 0, 0, byte(r.typ))
		default:
			b.u64(uint64(r.sym)<<32 | uint64(r.typ))
		}
		if rela {
			b.word(r.addend)
		}
	}
	return b.b
}

// Where withImports places its parts.
const (
	importsGOT    = 0x5000
	importsData   = 0x5100
	importsText   = 0x1000
	importsRel    = 0x3000
	importsJmprel = 0x3800
)

// withImports is a library with four symbols: abort (1) and exit (2), undefined
// functions, environ (3), an undefined object, own (4), a function of its own.
func (b build) withImports(rel, jmprel []trel, rela bool, stub uint64, dyn ...uint64) *build {
	e := &b
	e.typ = etDyn
	e.secs = e.symtab(".dynsym", ".dynstr",
		tsym{name: "abort", info: globalFunc, value: stub}, tsym{name: "exit", info: globalFunc},
		tsym{name: "environ", info: object}, tsym{name: "own", value: importsText, size: 8, info: globalFunc, shndx: 1})
	for i := range e.secs {
		e.secs[i].flags, e.secs[i].addr = shfAlloc, 0x2000+0x800*uint64(i)
	}
	d := e.buf()
	d.word(dtSymtab, 0x2000, dtStrtab, 0x2800, dtStrsz, uint64(len(e.secs[1].data)))
	first, second := e.relocations(rela, rel...), e.relocations(rela, jmprel...)
	table, size, kind := uint64(dtRel), uint64(dtRelsz), uint64(dtRel)
	if rela {
		table, size, kind = dtRela, dtRelasz, dtRela
	}
	d.word(table, importsRel, size, uint64(len(first)), dtJmprel, importsJmprel, dtPltrelsz, uint64(len(second)), dtPltrel, kind)
	d.word(dyn...)
	d.word(0, 0)
	data := e.buf()
	data.word(0, 0x10)
	e.secs = append(e.secs, text(importsText, 8),
		sec{name: ".rel.dyn", flags: shfAlloc, addr: importsRel, data: first},
		sec{name: ".rel.plt", flags: shfAlloc, addr: importsJmprel, data: second},
		sec{name: ".dynamic", flags: shfAlloc | shfWrite, addr: 0x4000, data: d.b},
		sec{name: ".data", flags: shfAlloc | shfWrite, addr: importsData, data: data.b})
	e.phdrs = []ph{{ptDynamic, ".dynamic"}}
	return e
}

// TestImports lists what each kind of relocation says of a word, with and without
// section headers.
func TestImports(t *testing.T) {
	// Of the words at importsData the first is 0 and the second 16: an addend in
	// place where the relocation has none.
	type want map[uint64]string
	for _, tt := range []struct {
		name        string
		e           build
		rela        bool
		rel, jmprel []trel
		stub        uint64
		dyn         []uint64
		want        want
	}{
		{name: "x86-64", e: build{wide: true}, rela: true,
			rel: []trel{
				{off: importsGOT + 8, sym: 2, typ: rX8664GlobDat},
				{off: importsGOT, sym: 1, typ: rX8664GlobDat},
				{off: importsData, sym: 3, typ: rX8664Abs64},
				{off: importsData + 8, sym: 3, typ: rX8664Abs64, addend: 8},
				{off: importsGOT + 0x20, typ: 8, addend: importsText}, // R_X86_64_RELATIVE
				{off: importsGOT + 0x28, sym: 3, typ: 16},             // R_X86_64_DTPMOD64
			},
			jmprel: []trel{{off: importsGOT + 0x18, sym: 1, typ: rX8664JumpSlot}, {off: importsGOT + 0x10, sym: 4, typ: rX8664JumpSlot}},
			want: want{importsGOT: "abort", importsGOT + 8: "exit", importsGOT + 0x10: "own", importsGOT + 0x18: "abort",
				importsData: "environ", importsData + 8: "", importsGOT + 0x20: "", importsGOT + 0x28: "", importsGOT + 4: "", 0: ""}},
		{name: "x86-64, relative ones first", e: build{wide: true}, rela: true, dyn: []uint64{dtRelacount, 2},
			rel: []trel{
				{off: importsGOT, typ: 8, addend: importsText},
				{off: importsGOT + 8, sym: 1, typ: rX8664GlobDat}, // is none: DT_RELACOUNT is believed
				{off: importsGOT + 0x10, sym: 2, typ: rX8664GlobDat},
			},
			jmprel: []trel{{off: importsGOT + 0x18, sym: 1, typ: rX8664JumpSlot}},
			want:   want{importsGOT: "", importsGOT + 8: "", importsGOT + 0x10: "exit", importsGOT + 0x18: "abort"}},
		{name: "i386", e: build{},
			rel:    []trel{{off: importsGOT, sym: 1, typ: r386GlobDat}, {off: importsData, sym: 1, typ: r386Abs32}, {off: importsData + 4, sym: 1, typ: r386Abs32}},
			jmprel: []trel{{off: importsGOT + 4, sym: 2, typ: r386JumpSlot}},
			want:   want{importsGOT: "abort", importsGOT + 4: "exit", importsData: "abort", importsData + 4: ""}},
		{name: "AArch64", e: build{wide: true, machine: emAArch64}, rela: true,
			rel:    []trel{{off: importsGOT, sym: 1, typ: rAArch64GlobDat}, {off: importsData, sym: 1, typ: rAArch64Abs64}},
			jmprel: []trel{{off: importsGOT + 8, sym: 2, typ: rAArch64JumpSlot}},
			want:   want{importsGOT: "abort", importsGOT + 8: "exit", importsData: "abort"}},
		{name: "ARM", e: build{machine: emARM},
			rel:    []trel{{off: importsGOT, sym: 1, typ: rARMGlobDat}, {off: importsData + 4, sym: 1, typ: rARMAbs32}},
			jmprel: []trel{{off: importsGOT + 4, sym: 2, typ: rARMJumpSlot}},
			want:   want{importsGOT: "abort", importsGOT + 4: "exit", importsData + 4: ""}},
		{name: "RISC-V, 64 bits", e: build{wide: true, machine: emRISCV}, rela: true,
			rel:    []trel{{off: importsGOT, sym: 1, typ: rRISCVAbs64}, {off: importsGOT + 0x10, sym: 1, typ: rRISCVAbs32}},
			jmprel: []trel{{off: importsGOT + 8, sym: 2, typ: rRISCVJumpSlot}},
			want:   want{importsGOT: "abort", importsGOT + 8: "exit", importsGOT + 0x10: ""}},
		{name: "RISC-V, 32 bits", e: build{machine: emRISCV}, rela: true,
			rel:  []trel{{off: importsGOT, sym: 1, typ: rRISCVAbs32}},
			want: want{importsGOT: "abort"}},
		// The global part begins behind two local words, with symbol 2.
		{name: "MIPS o32", e: build{machine: emMIPS, big: true}, stub: 0x1004,
			rel:    []trel{{off: importsData, sym: 3, typ: rMIPSRel32}, {off: importsData + 4, typ: rMIPSRel32}},
			jmprel: []trel{{off: importsGOT + 0x40, sym: 2, typ: rMIPSJumpSlot}},
			dyn:    []uint64{dtPltgot, importsGOT, dtMIPSLocalGotno, 2, dtMIPSGotsym, 1, dtMIPSSymtabno, 5},
			want: want{importsGOT + 4: "", importsGOT + 8: "abort", importsGOT + 12: "exit", importsGOT + 20: "own", importsGOT + 24: "",
				importsGOT + 9: "", importsGOT + 0x40: "exit", importsData: "environ", importsData + 4: "", 0x1004: "abort", importsText: ""}},
		{name: "MIPS n64, little", e: build{machine: emMIPS, wide: true},
			rel:  []trel{{off: importsData, sym: 3, typ: rMIPSRel32}},
			dyn:  []uint64{dtPltgot, importsGOT, dtMIPSLocalGotno, 2, dtMIPSGotsym, 2, dtMIPSSymtabno, 5},
			want: want{importsGOT + 8: "", importsGOT + 16: "exit", importsGOT + 24: "environ", importsData: "environ"}},
	} {
		for _, tt.e.noSections = range []bool{false, true} {
			e := tt.e.withImports(tt.rel, tt.jmprel, tt.rela, tt.stub, tt.dyn...)
			img := parse(t, e.bytes())
			for addr, want := range tt.want {
				if got, ok := img.Import(addr); got != want || ok != (want != "") {
					t.Errorf("%s: Import(%#x) = %q, %t, want %q", tt.name, addr, got, ok, want)
				}
			}
		}
	}
}

// Tables that lie about their size, number or place name nothing that is not there.
func TestHostileImports(t *testing.T) {
	e := build{wide: true}
	slot := []trel{{off: importsGOT, sym: 1, typ: rX8664GlobDat}, {off: importsGOT + 8, sym: 1 << 30, typ: rX8664GlobDat}, {off: importsGOT + 16, sym: ^uint32(0), typ: rX8664GlobDat}}
	for name, dyn := range map[string][]uint64{
		"as it should be":            nil,
		"a size beyond the file":     {dtRelasz, 1 << 62},
		"more relative than all":     {dtRelacount, ^uint64(0)},
		"the largest size":           {dtJmprel, importsRel, dtPltrelsz, ^uint64(0), dtPltrel, dtRela},
		"a table in no segment":      {dtJmprel, 1 << 40, dtPltrelsz, 1 << 40},
		"an unknown kind of DT_PLT":  {dtJmprel, importsRel, dtPltrelsz, 48, dtPltrel, 99},
		"the same table three times": {dtRel, importsRel, dtRelsz, 1 << 20, dtJmprel, importsRel, dtPltrelsz, 1 << 20},
		"a part of an entry":         {dtPltrelsz, 3},
		"a MIPS GOT":                 {dtPltgot, importsGOT, dtMIPSLocalGotno, 0, dtMIPSGotsym, 2, dtMIPSSymtabno, 5},
	} {
		img := parse(t, e.withImports(slot, nil, true, 0, dyn...).bytes())
		if got, _ := img.Import(importsGOT); got != "abort" {
			t.Errorf("%s: %q", name, got)
		}
		for _, addr := range []uint64{importsGOT + 8, importsGOT + 16} {
			if got, ok := img.Import(addr); ok {
				t.Errorf("%s: a symbol beyond the table is %q", name, got)
			}
		}
	}
	e = build{machine: emMIPS}
	for name, dyn := range map[string][]uint64{
		"more local entries than there are addresses": {dtPltgot, importsGOT, dtMIPSLocalGotno, 1 << 30, dtMIPSGotsym, 1, dtMIPSSymtabno, 5},
		"symbols without end":                         {dtPltgot, importsGOT, dtMIPSLocalGotno, 0, dtMIPSGotsym, 1, dtMIPSSymtabno, 1 << 31},
		"fewer symbols than the first":                {dtPltgot, importsGOT, dtMIPSLocalGotno, 0, dtMIPSGotsym, 9, dtMIPSSymtabno, 5},
	} {
		img := parse(t, e.withImports(nil, nil, false, 0, dyn...).bytes())
		for addr := uint64(importsGOT + 4*9); addr < importsGOT+0x4000; addr++ {
			if got, ok := img.Import(addr); ok && !strings.Contains("abort exit environ own", got) {
				t.Errorf("%s: Import(%#x) = %q", name, addr, got)
			}
		}
	}
}

// Many relocations cost what it takes to read them once.
func TestCostOfManyImports(t *testing.T) {
	list := make([]trel, 100_000)
	for i := range list {
		list[i] = trel{off: importsGOT + uint64(i*7%len(list)), sym: 1, typ: rX8664GlobDat}
	}
	e := build{wide: true}.withImports(nil, nil, true, 0, dtRela, 0x100_0000, dtRelasz, uint64(24*len(list)))
	e.secs = append(e.secs, sec{name: ".rela.more", flags: shfAlloc, addr: 0x100_0000, data: e.relocations(true, list...)})
	img := parse(t, e.bytes())
	for i := range uint64(len(list)) {
		if name, _ := img.Import(importsGOT + i); name != "abort" {
			t.Fatalf("word %d: %q", i, name)
		}
	}
	if n := testing.AllocsPerRun(100, func() { img.Import(importsGOT + 77) }); n > 1 {
		t.Errorf("%v allocations for one name", n)
	}
}

// libraries are files with imports of each processor, as distributions have them.
func libraries(t *testing.T) (files []string) {
	for _, pattern := range []string{
		"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/readelf",
		"/usr/*-linux-gnu*/lib*/libc.so.6", "/usr/*-linux-gnu*/lib*/libstdc++.so.6", "/usr/*-linux-gnu*/lib*/libgcc_s.so.1",
	} {
		found, _ := filepath.Glob(pattern)
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skip("no libraries")
	}
	return files
}

// readelfLines calls line for each line that readelf prints, split into fields.
func readelfLines(t *testing.T, line func(f []string), args ...string) {
	out, err := exec.Command("readelf", args...).Output()
	if err != nil {
		t.Skip("no readelf: ", err)
	}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		line(strings.Fields(s.Text()))
	}
}

// TestImportsEqualReadelf compares every word that readelf -r, or -A for the GOT
// of MIPS, names a symbol for.
func TestImportsEqualReadelf(t *testing.T) {
	kinds := map[string]bool{ // true: the addend counts
		"R_X86_64_64": true, "R_X86_64_GLOB_DAT": false, "R_X86_64_JUMP_SLOT": false, "R_386_32": true, "R_386_GLOB_DAT": false, "R_386_JUMP_SLOT": false,
		"R_ARM_ABS32": true, "R_ARM_GLOB_DAT": false, "R_ARM_JUMP_SLOT": false, "R_AARCH64_ABS64": true, "R_AARCH64_GLOB_DAT": false, "R_AARCH64_JUMP_SLOT": false,
		"R_RISCV_64": true, "R_RISCV_32": true, "R_RISCV_JUMP_SLOT": false, "R_MIPS_REL32": true, "R_MIPS_JUMP_SLOT": false,
	}
	for _, path := range libraries(t) {
		img := openReal(t, path)
		compared := 0
		compare := func(addr, want string) {
			a, err := strconv.ParseUint(addr, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			want, _, _ = strings.Cut(want, "@")
			compared++
			if got, ok := img.Import(a); !ok || got != want {
				t.Errorf("%s: Import(%#x) = %q, %t, want %q", path, a, got, ok, want)
			}
		}
		readelfLines(t, func(f []string) {
			if len(f) < 5 {
				return
			}
			counts, ok := kinds[f[2]]
			if !ok || counts && (len(f) == 7 && f[6] != "0" || len(f) == 5 && inPlace(img, f[0])) {
				return
			}
			compare(f[0], f[4])
		}, "-rW", path)
		global := false
		readelfLines(t, func(f []string) {
			switch {
			case len(f) == 2 && f[0] == "Global":
				global = true
			case len(f) == 0:
				global = false
			case global && len(f) == 7 && f[0] != "Address":
				compare(f[0], f[6])
			}
		}, "-AW", path)
		if compared < 10 {
			t.Errorf("%s: only %d words compared", path, compared)
		}
	}
}

// inPlace tells whether a word of the file holds an addend.
func inPlace(img *image.Image, addr string) bool {
	a, _ := strconv.ParseUint(addr, 16, 64)
	v, _ := img.Word(a)
	return v != 0
}
