package elf

import "testing"

// TestLinked: in the GOT of MIPS, what stands for no symbol of other files, the two first words aside; what a
// program defines itself is that, what a library does is not.
func TestLinked(t *testing.T) {
	interp := sec{name: ".interp", flags: shfAlloc, addr: 0x4800, data: []byte("/lib/ld.so.1\x00")}
	for _, program := range []bool{false, true} {
		e := build{machine: emMIPS, big: true}
		file := e.withImports(nil, nil, false, 0x1004, dtPltgot, importsGOT, dtMIPSLocalGotno, 4, dtMIPSGotsym, 1, dtMIPSSymtabno, 5)
		if program {
			file.secs = append(file.secs, interp)
			file.phdrs = append(file.phdrs, ph{ptInterp, ".interp"})
		}
		img := parse(t, file.bytes())
		for addr, want := range map[uint64]bool{importsGOT - 4: false, importsGOT: false, importsGOT + 4: false, importsGOT + 8: true, importsGOT + 9: false,
			importsGOT + 12: true, importsGOT + 16: false, importsGOT + 20: false, importsGOT + 24: false, importsGOT + 28: program, importsGOT + 32: false, importsData: false} {
			if got := img.Linked(addr); got != want {
				t.Errorf("a program: %t, Linked(%#x) = %t", program, addr, got)
			}
		}
	}
}
