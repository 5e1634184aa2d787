package dataflow

import (
	"testing"

	"github.com/backsight/backsight/internal/code/codetest"
)

// TestExposed: a function passes on the address of what lies 16 bytes above its SP, in a delay slot,
// the lowest
// place that others may change. The frame pointer gives no address away.
func TestExposed(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <f>:
	400100 <g>:
		400000: 27bdffe0  addiu sp,sp,-32
		400004: afbf001c  sw    ra,28(sp)
		400008: afbe0018  sw    s8,24(sp)
		40000c: 03a0f025  move  s8,sp
		400010: 0c100040  jal   400100
		400014: 27a40010  addiu a0,sp,16
		400018: 8fbf001c  lw    ra,28(sp)
		40001c: 8fbe0018  lw    s8,24(sp)
		400020: 03e00008  jr    ra
		400024: 27bd0020  addiu sp,sp,32
		400100: 03e00008  jr    ra
		400104: 00000000  nop`}).Function(at(0x400000))
	if got := LowestEscaping(f); got != -16 {
		t.Errorf("%d bytes from SP on entry, want -16", got)
	}
}
