package discover

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestInSymbol: a symbol with a size says where a function begins and ends, whatever calls and pointers lead into it.
func TestInSymbol(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "x86_64", Symbols: codetest.Sized, Data: map[uint64][]uint64{0x8000: {0x1008, 0x1030}}, Listing: `
	1000 <f>:
	1040 <g>:
		1000: e8 1b 00 00 00  call 1020     a subroutine of f
		1005: e8 36 00 00 00  call 1040
		100a: c3              ret
		1020: e8 00 00 00 00  call 1025     reads the PC
		1025: 58              pop  %rax
		1026: c3              ret
		1030: e8 0b 00 00 00  call 1040     the last of f
		1035: 90              nop
		103b: e8 00 00 00 00  call 1040
		1040: c3              ret`})
	if !e.IsEntry(at(0x1000)) || !e.IsEntry(at(0x1040)) || e.IsEntry(at(0x1020)) {
		t.Error("functions begin where symbols do")
	}
	if got := e.Below(at(0x1025)); !slices.Equal(got, []uint64{0x1000}) {
		t.Errorf("below 1025: %#x", got)
	}
	if got := e.CalledBelow(at(0x1025)); !slices.Equal(got, []uint64{0x1020}) {
		t.Errorf("called below 1025: %#x", got)
	}
	if got := e.PointedBelow(at(0x1035)); got != nil {
		t.Errorf("pointed below 1035: %#x", got)
	}
	if got := e.Next(0x1008, 0x1000); got != 0x1040 {
		t.Errorf("behind 1008: %#x", got)
	}
	for pc, ends := range map[uint64]bool{0x1030: false, 0x103b: true} {
		if got := e.EndsBehind(pc, at(pc+5)); got != ends {
			t.Errorf("f ends behind the call at %#x: %t", pc, got)
		}
	}
}
