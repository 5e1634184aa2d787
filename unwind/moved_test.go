package unwind

import (
	"testing"

	"github.com/backsight/backsight/cpu/mips"
	"github.com/backsight/backsight/target"
)

// TestMovedNumber: a number that a call passes is the number itself, or an address in a program that
// lies 0x300000 above where it was linked.
func TestMovedNumber(t *testing.T) {
	arch := mips.Archs()[0]
	s0, _ := arch.RegByName("s0")
	s := siblings{snap: &target.Snapshot{Arch: arch}, moved: 0x300000}
	for passed, excluded := range map[uint64]bool{0x1234: false, 0x301234: false, 0x1299: true} {
		s.callee.Set(s0, passed)
		c := Clue{What: Operand{Kind: InRegister, Reg: s0}, Other: Operand{Kind: Number, Off: 0x1234}, OfCallee: true, Straight: true}
		if got, contradicts := s.tell(&c); got != excluded || contradicts {
			t.Errorf("%#x: excluded %t, contradicts %t", passed, got, contradicts)
		}
		c.Own, c.Other = c.Other, Operand{}
		if _, contradicts := s.tell(&c); contradicts != excluded {
			t.Errorf("%#x passed by the frame's own call: contradicts %t", passed, contradicts)
		}
	}
}
