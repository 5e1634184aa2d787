package code

import (
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestNextFunction: f ends in a call of g, which never returns and which the linker placed next. g is a function with a frame
// of its own, at whose entry the link register leads to f, behind f's call.
func TestNextFunction(t *testing.T) {
	for _, c := range []struct {
		codetest.Program
		want   map[uint64]string
		behind string // the frame of f, to which its call would return at the entry of g
	}{
		{codetest.Program{CPU: "mips o32 big", Listing: `
		400000 <f>:
			400000: 27bdffe8  addiu sp,sp,-24
			400004: afbf0014  sw    ra,20(sp)
			400008: 04110001  bal   400010
			40000c: 00000000  nop
			400010: 27bdffd8  addiu sp,sp,-40    g
			400014: afbf0024  sw    ra,36(sp)
			400018: 0c140000  jal   500000
			40001c: 00000000  nop
			400020: 1000ffff  b     400020
			400024: 00000000  nop`},
			map[uint64]string{0x400008: "CFA=sp+24 RA=ra", 0x400010: "CFA=sp RA=ra", 0x400014: "CFA=sp+40 RA=ra", 0x400020: "CFA=sp+40 RA=[CFA-4]"},
			"CFA=sp+24 RA=[CFA-4]"},
		{codetest.Program{CPU: "arm", Listing: `
		400000 <f>:
			400000: e52de004  push {lr}
			400004: ebffffff  bl   400008
			400008: e92d4070  push {r4,r5,r6,lr}    g
			40000c: eb03fffb  bl   500000
			400010: eafffffe  b    400010`},
			map[uint64]string{0x400004: "CFA=sp+4 RA=lr", 0x400008: "CFA=sp RA=lr", 0x40000c: "CFA=sp+16 RA=lr", 0x400010: "CFA=sp+16 RA=[CFA-4]"},
			"CFA=sp+4 RA=[CFA-4]"},
		{codetest.Program{CPU: "arm", Mode: 1, Listing: `
		400000 <f>:
			400000: b510       push {r4,lr}
			400002: f000 f800  bl   400006
			400006: b570       push {r4,r5,r6,lr}    g
			400008: f0ff fffa  bl   500000
			40000c: e7fe       b    40000c`},
			map[uint64]string{0x400002: "CFA=sp+8 RA=lr", 0x400006: "CFA=sp RA=lr", 0x400008: "CFA=sp+16 RA=lr", 0x40000c: "CFA=sp+16 RA=[CFA-4]"},
			"CFA=sp+8 RA=[CFA-4]"},
		{codetest.Program{CPU: "aarch64", Listing: `
		400000 <f>:
			400000: a9be7bfd  stp x29,x30,[sp,#-32]!
			400004: 94000001  bl  400008
			400008: a9bf7bfd  stp x29,x30,[sp,#-16]!    g
			40000c: 9403fffd  bl  500000
			400010: 14000000  b   400010`},
			map[uint64]string{0x400004: "CFA=sp+32 RA=x30", 0x400008: "CFA=sp RA=x30", 0x40000c: "CFA=sp+16 RA=x30", 0x400010: "CFA=sp+16 RA=[CFA-8]"},
			"CFA=sp+32 RA=[CFA-24]"},
		{codetest.Program{CPU: "riscv64", Listing: `
		400000 <f>:
			400000: 1101      addi sp,sp,-32
			400002: ec06      sd   ra,24(sp)
			400004: 004000ef  jal  400008
			400008: 1141      addi sp,sp,-16    g
			40000a: e406      sd   ra,8(sp)
			40000c: 7f50f0ef  jal  410000
			400010: a001      j    400010`},
			map[uint64]string{0x400004: "CFA=sp+32 RA=ra", 0x400008: "CFA=sp RA=ra", 0x40000c: "CFA=sp+16 RA=ra", 0x400010: "CFA=sp+16 RA=[CFA-8]"},
			"CFA=sp+32 RA=[CFA-8]"},
	} {
		t.Run(c.CPU, func(t *testing.T) {
			s, img := New(nil), c.Image(t)
			entry := uint64(0)
			for pc, want := range c.want {
				if got := first(s, exact(img, pc, c.Mode)); got != want {
					t.Errorf("%x: %s, want %s", pc, got, want)
				}
				if want == "CFA=sp RA="+img.Arch.Regs[img.Arch.LR].Names[0] {
					entry = pc
				}
			}
			if got := first(s, resuming(img, entry, c.Mode)); got != c.behind {
				t.Errorf("behind the call: %s, want %s", got, c.behind)
			}
		})
	}
}
