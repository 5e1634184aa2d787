package edges

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
)

// TestArguments: inner holds in s0 what it was passed in a0; middle passes its own a0 plus 1, in the delay slot, and
// outer the number 4; framed has its frame pointer in s8.
func TestArguments(t *testing.T) {
	p := codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <inner>:
	400020 <middle>:
	400040 <outer>:
	400060 <framed>:
		400000: 27bdffe8  addiu sp,sp,-24
		400004: afbf0014  sw    ra,20(sp)
		400008: afb00010  sw    s0,16(sp)
		40000c: 00808025  move  s0,a0
		400010: 0c100018  jal   400060
		400014: 00000000  nop
		400018: 1000ffff  b     400018
		40001c: 00000000  nop
		400020: 27bdffe8  addiu sp,sp,-24
		400024: afbf0014  sw    ra,20(sp)
		400028: 0c100000  jal   400000
		40002c: 24840001  addiu a0,a0,1
		400030: 1000ffff  b     400030
		400034: 00000000  nop
		400040: 27bdffe8  addiu sp,sp,-24
		400044: afbf0014  sw    ra,20(sp)
		400048: 0c100008  jal   400020
		40004c: 24040004  li    a0,4
		400050: 1000ffff  b     400050
		400054: 00000000  nop
		400060: 27bdffd8  addiu sp,sp,-40
		400064: afbe0020  sw    s8,32(sp)
		400068: 03a0f025  move  s8,sp
		40006c: afbf0024  sw    ra,36(sp)
		400070: 0c100010  jal   400040
		400074: 00000000  nop
		400078: 1000ffff  b     400078
		40007c: 00000000  nop`}
	img := p.Image(t)
	m := &target.Module{Image: img}
	reg := func(name string) stackwalk.Operand {
		r, ok := img.Arch.RegByName(name)
		if !ok {
			t.Fatal(name)
		}
		return stackwalk.Operand{Kind: stackwalk.InRegister, Reg: r}
	}
	a0, s0, s8, sp := reg("a0"), reg("s0"), reg("s8"), reg("sp")
	w := New(nil)
	if got := w.Arguments(m, 0x400010, 0, false); len(got) != 1 || got[0] != (stackwalk.Argument{Reg: a0.Reg, At: s0}) {
		t.Errorf("inner holds %+v", got)
	}
	a0.Off, sp.Off = 1, -40
	for _, c := range []struct {
		ra   uint64
		of   stackwalk.Operand
		want stackwalk.Operand
	}{
		{0x400030, a0, a0},
		{0x400050, a0, stackwalk.Operand{Kind: stackwalk.Number, Off: 4}},
		{0x400078, s8, sp},
		{0x40000c, a0, stackwalk.Operand{}}, // no call stands before
	} {
		if got := w.Passes(m, c.ra, 0, c.of.Reg); got != c.want {
			t.Errorf("%#x: %+v, want %+v", c.ra, got, c.want)
		}
	}
}
