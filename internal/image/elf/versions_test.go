package elf

import "testing"

// TestSymbolVersions: of two symbols of one name, that is found which new programs are linked with,
// whichever comes first. A table of versions that ends early hides nothing behind its end.
func TestSymbolVersions(t *testing.T) {
	const hidden = 1 << 15
	for _, tt := range []struct {
		name     string
		versions []uint16
		want     uint64
	}{
		{"the second is for old programs", []uint16{0, 2, 2 | hidden}, 0x1000},
		{"the first is", []uint16{0, 2 | hidden, 3}, 0x1010},
		{"both are", []uint16{0, 2 | hidden, 3 | hidden}, 0x1000},
		{"the table is cut", []uint16{0, 2 | hidden}, 0x1010},
		{"no versions", nil, 0x1000},
	} {
		for _, e := range []build{{wide: true}, {big: true, machine: emMIPS}} {
			e.typ, e.noSections = etDyn, true
			tables := e.symtab("syms", "strs",
				tsym{name: "fopen", value: 0x1000, size: 16, info: globalFunc, shndx: 1},
				tsym{name: "fopen", value: 0x1010, size: 16, info: globalFunc, shndx: 1})
			dyn, versions := e.buf(), e.buf()
			for _, v := range tt.versions {
				versions.u16(v)
			}
			for i := range tables {
				tables[i].flags, tables[i].addr = shfAlloc, 0x3000+0x800*uint64(i)
			}
			dyn.word(dtSymtab, 0x3000, dtStrtab, 0x3800, dtStrsz, uint64(len(tables[1].data)), dtMIPSSymtabno, 3)
			if tt.versions != nil {
				dyn.word(dtVersym, 0x5000)
			}
			dyn.word(0, 0)
			e.secs = append(tables, text(0x1000, 0x100), sec{name: "dynamic", flags: shfAlloc, addr: 0x4000, data: dyn.b},
				sec{name: "versions", flags: shfAlloc, addr: 0x5000, data: versions.b})
			e.phdrs = []ph{{ptDynamic, "dynamic"}}
			img := parse(t, e.bytes())
			for round := range 3 { // the first answers come without the index
				if s, ok := img.Symbols.Named("fopen"); s.Addr != tt.want || !ok {
					t.Errorf("%s, big endian %t, round %d: %+v, %t, want %#x", tt.name, e.big, round, s, ok, tt.want)
				}
			}
		}
	}
}
