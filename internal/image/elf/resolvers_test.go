package elf

import "testing"

// TestResolver: the functions that say what the dynamic linker stores in a word, in the relocation
// or in place. A word with the address of a symbol has none.
func TestResolver(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    build
		rela bool
		typ  uint32
	}{
		{"x86-64", build{wide: true}, true, rX8664Irelative},
		{"i386", build{}, false, r386Irelative},
		{"ARM", build{machine: emARM}, false, rARMIrelative},
		{"AArch64", build{machine: emAArch64, wide: true}, true, rAArch64Irelative},
		{"RISC-V", build{machine: emRISCV, wide: true}, true, rRISCVIrelative},
	} {
		// The second word at importsData is 16.
		want, at := uint64(16), uint64(importsData+4)
		if tt.rela {
			want, at = importsText+4, importsGOT+8
		}
		img := parse(t, tt.e.withImports([]trel{{off: at, typ: tt.typ, addend: want}, {off: importsGOT + 16, sym: 1, typ: tt.typ + 1}}, nil, tt.rela, 0).bytes())
		if got, ok := img.Resolver(at); got != want || !ok {
			t.Errorf("%s: %#x, %t", tt.name, got, ok)
		}
		for _, other := range []uint64{0, at + 1, importsGOT + 16} {
			if got, ok := img.Resolver(other); ok {
				t.Errorf("%s: the word at %#x has the resolver %#x", tt.name, other, got)
			}
		}
		if name, ok := img.Import(at); ok {
			t.Errorf("%s: the import %q", tt.name, name)
		}
	}
}
