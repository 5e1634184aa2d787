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

// TestStaticGOT: of a program that is linked statically nothing changes a word of the GOT. Only a program has such a GOT.
func TestStaticGOT(t *testing.T) {
	for _, typ := range []uint16{etExec, etDyn} {
		e := build{machine: emMIPS, big: true, typ: typ}
		e.secs = []sec{text(0x1000, 0x10), {name: ".got", flags: shfAlloc | shfWrite, addr: 0x2000, data: make([]byte, 16)}}
		img := parse(t, e.bytes())
		for addr, want := range map[uint64]bool{0x1ffc: false, 0x2000: false, 0x2004: false, 0x2008: typ == etExec, 0x200a: false, 0x200c: typ == etExec, 0x2010: false} {
			if got := img.Linked(addr); got != want {
				t.Errorf("type %d: Linked(%#x) = %t", typ, addr, got)
			}
		}
	}
}
