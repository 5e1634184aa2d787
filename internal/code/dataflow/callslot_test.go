package dataflow

import (
	"testing"

	"github.com/backsight/backsight/internal/code/codetest"
)

// TestCallSlot: a call goes through the word of the GOT that the code loaded last into the call's register,
// wherever the instruction in the delay slot loads the next one from; not through what a register was moved to.
func TestCallSlot(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <f>:
		400000: 27bdffe8  addiu sp,sp,-24
		400004: afbf0014  sw    ra,20(sp)
		400008: 3c020041  lui   v0,0x41
		40000c: 8c590010  lw    t9,16(v0)
		400010: 8c590014  lw    t9,20(v0)
		400014: 0320f809  jalr  t9
		400018: 8c590018  lw    t9,24(v0)
		40001c: 3c020041  lui   v0,0x41
		400020: 8c590014  lw    t9,20(v0)
		400024: 0200c825  move  t9,s0
		400028: 0320f809  jalr  t9
		40002c: 00000000  nop
		400030: 8cb90000  lw    t9,0(a1)
		400034: 0320f809  jalr  t9
		400038: 00000000  nop
		40003c: 8fbf0014  lw    ra,20(sp)
		400040: 03e00008  jr    ra
		400044: 27bd0018  addiu sp,sp,24`}).Function(at(0x400000))
	for site, want := range map[uint64]uint64{0x400014: 0x41_0014, 0x400028: 0, 0x400034: 0, 0x400040: 0} {
		if slot, ok := f.CallSlot(at(site)); ok != (want != 0) || ok && slot != want {
			t.Errorf("%#x: %#x, %t, want %#x", site, slot, ok, want)
		}
	}
}
