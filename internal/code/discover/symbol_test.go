package discover

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestDeclaredByTable: without symbols a table bounds the function of a place that a search of the table finds. Of a call from
// elsewhere into the function's middle nothing need be known, and no list is made.
func TestDeclaredByTable(t *testing.T) {
	p := codetest.Program{CPU: "x86_64", Listing: `
		1000: e8 0b 00 00 00  call 1010
		1005: c3              ret
		1010: e8 1b 00 00 00  call 1030
		1015: c3              ret
		1020: e8 0b 00 00 00  call 1030
		1025: e8 06 00 00 00  call 1030
		1030: c3              ret`}
	e := New(disasm.Of(p.Image(t)), &Tables{
		Functions: func(*image.Image, func(lo, hi uint64) bool) { t.Error("all functions were listed") },
		FunctionAt: func(*image.Image) Search {
			return func(pc uint64) (lo, hi uint64, ok bool) { return 0x1020, 0x1038, pc >= 0x1020 }
		},
	})
	if e.IsEntry(at(0x1030)) || !e.IsEntry(at(0x1020)) || !slices.Equal(e.Below(at(0x1030)), []uint64{0x1020}) || e.Next(0x1028, 0) != 0x1031 {
		t.Errorf("1030 begins a function: %t, 1020: %t; below: %#x; behind: %#x", e.IsEntry(at(0x1030)), e.IsEntry(at(0x1020)), e.Below(at(0x1030)), e.Next(0x1028, 0))
	}
}

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
