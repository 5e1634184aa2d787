package edges

import (
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
)

// TestShadows: a register is a shadow stack's pointer where the function has stored its return address through that, and
// the pointer is one word on. A function that moves such a register for another reason tells nothing.
func TestShadows(t *testing.T) {
	type at struct {
		pc    uint64
		exact bool
		moved int64
		known bool
	}
	for name, tt := range map[string]struct {
		cpu, pointer, listing string
		places                []at
	}{
		"ShadowCallStack of AArch64": {"aarch64", "x18", `
		1000 <f>:
		1000: f800865e  str  x30,[x18],#8
		1004: a9bf7bfd  stp  x29,x30,[sp,#-16]!
		1008: 94000006  bl   1020
		100c: a8c17bfd  ldp  x29,x30,[sp],#16
		1010: f85f8e5e  ldr  x30,[x18,#-8]!
		1014: d65f03c0  ret
		1020 <g>:
		1020: 91002252  add  x18,x18,#8
		1024: d503201f  nop
		1028: d65f03c0  ret`, []at{{0x1000, true, 0, true}, {0x1004, true, 8, true}, {0x100c, false, 8, true}, {0x1014, true, 0, true}, {0x1024, true, 0, false}}},
		"ShadowCallStack of RISC-V": {"riscv64", "gp", `
		1000 <f>:
		1000: 01a1      addi gp,gp,8
		1002: fe11bc23  sd   ra,-8(gp)
		1006: 1141      addi sp,sp,-16
		1008: e406      sd   ra,8(sp)
		100a: 010000ef  jal  101a
		100e: 60a2      ld   ra,8(sp)
		1010: 0141      addi sp,sp,16
		1012: ff81b083  ld   ra,-8(gp)
		1016: 11e1      addi gp,gp,-8
		1018: 8082      ret
		101a <g>:
		101a: 8082      ret`, []at{{0x1000, true, 0, true}, {0x100e, false, 8, true}, {0x1018, true, 0, true}, {0x101a, true, 0, true}}},
		"Zicfiss": {"riscv64", "ssp", `
		1000 <f>:
		1000: 6081      c.sspush ra
		1002: 1141      addi sp,sp,-16
		1004: e406      sd   ra,8(sp)
		1006: 010000ef  jal  1016
		100a: 60a2      ld   ra,8(sp)
		100c: 0141      addi sp,sp,16
		100e: cdc0c073  sspopchk ra
		1012: 8082      ret
		1016 <g>:
		1016: 8082      ret`, []at{{0x1000, true, 0, true}, {0x1002, true, -8, true}, {0x100a, false, -8, true}, {0x1012, true, 0, true}, {0x1016, true, 0, true}}},
	} {
		t.Run(name, func(t *testing.T) {
			img := codetest.Program{CPU: tt.cpu, Listing: tt.listing}.Image(t)
			lo, hi := img.Segments.Bounds()
			m := &target.Module{Image: img, Range: target.Range{Lo: lo, Hi: hi}}
			r, _ := img.Arch.RegByName(tt.pointer)
			for _, p := range tt.places {
				if moved, known := New(nil).Shadows(m, p.pc, 0, p.exact, r); moved != p.moved || known != p.known {
					t.Errorf("%#x: %d, %t; want %d, %t", p.pc, moved, known, p.moved, p.known)
				}
			}
		})
	}
}
