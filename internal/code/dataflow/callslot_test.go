package dataflow

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
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

// TestLandingPadCallSlot: no flow comes to the landing pad at 400044, which calls through the GOT entry at 410010, and
// then through what the first call returned.
func TestLandingPadCallSlot(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <f>:
		400000: 3c1c0041  lui   gp,0x41
		400004: 27bdffe0  addiu sp,sp,-32
		400008: afbf001c  sw    ra,28(sp)
		40000c: afbc0010  sw    gp,16(sp)
		400010: 0c140000  jal   500000
		400014: 00000000  nop
		400018: 8fbc0010  lw    gp,16(sp)
		40001c: 8fbf001c  lw    ra,28(sp)
		400020: 03e00008  jr    ra
		400024: 27bd0020  addiu sp,sp,32
		400044: 8fbc0010  lw    gp,16(sp)
		400048: 8f990010  lw    t9,16(gp)
		40004c: 0320f809  jalr  t9
		400050: 00000000  nop
		400054: 8f820010  lw    v0,16(gp)
		400058: 8c590000  lw    t9,0(v0)
		40005c: 0320f809  jalr  t9
		400060: 00000000  nop
		400064: 0320f809  jalr  t9
		400068: 00000000  nop`}).Function(at(0x400000))
	for site, want := range map[uint64]uint64{0x40004c: 0x41_0010, 0x40005c: 0, 0x400064: 0, 0x400048: 0, 0x400010: 0} {
		if slot, ok := LandingPadCallSlot(f, at(site)); ok != (want != 0) || ok && slot != want {
			t.Errorf("%#x: %#x, %t, want %#x", site, slot, ok, want)
		}
	}
}

// TestTailOfLazyStub: a function of MIPS that ends in a jump to the stub of an import, which no call names.
func TestTailOfLazyStub(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Imports: map[uint64]string{0x400100: "free"}, Listing: `
	400000 <f>:
		400000: 3c190040  lui   t9,0x40
		400004: 27390100  addiu t9,t9,256
		400008: 03200008  jr    t9
		40000c: 00000000  nop
	400020 <g>:
		400020: 03e00008  jr    ra
		400024: 00000000  nop
		400100: 8f998010  lw    t9,-32752(gp)
		400104: 03e07825  move  t7,ra
		400108: 0320f809  jalr  t9
		40010c: 24180003  li    t8,3`}).Function(at(0x400000))
	if !f.Complete || f.LeavesByPointer || !slices.Equal(f.Tails, []disasm.Addr{at(0x400100)}) {
		t.Errorf("%+v, on to %v", f.Facts, f.Tails)
	}
}
