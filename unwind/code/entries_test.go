package code

import (
	"slices"
	"testing"
)

// TestCarriedConstant: the address of a function is built from a register that was
// set before a branch, as MIPS16 code reads the GOT through a copy of gp in s0.
func TestCarriedConstant(t *testing.T) {
	const local = text + 0x24
	an := mips(t, []uint64{text},
		0x24020040, // li    v0,0x40
		0x00028400, // sll   s0,v0,16
		0x14800003, // bnez  a0,400018
		nop,
		jrRA,
		nop,
		0x26190024, // addiu t9,s0,36
		0x03200008, // jr    t9
		nop,
		0x03e00008, // 400024: jr ra
		nop)
	if !slices.Contains(an.weakEntries(), key(local, 0)) {
		t.Errorf("%#x is not among %#x", local, an.weakEntries())
	}
}
