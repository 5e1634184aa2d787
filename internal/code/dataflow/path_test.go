package dataflow

import (
	"cmp"
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// chooser calls what one of three cases has put in x2.
const chooser = `
	400000 <f>:
	400100 <g>:
	400180 <h>:
		400000: a9be7bf4  stp  x20,x30,[sp,#-32]!
		400004: aa0003f4  mov  x20,x0
		400008: 340000a1  cbz  w1,40001c
		40000c: 7100083f  cmp  w1,#2
		400010: 540000c0  b.eq 400028
		400014: 10000762  adr  x2,400100
		400018: 14000005  b    40002c
		40001c: f9400a94  ldr  x20,[x20,#16]
		400020: 10ffff02  adr  x2,400000
		400024: 14000002  b    40002c
		400028: `

const chosen = `
		40002c: aa1403e0  mov  x0,x20
		400030: d63f0040  blr  x2
		400034: a8c27bf4  ldp  x20,x30,[sp],#32
		400038: d65f03c0  ret
		400100: d65f03c0  ret
		400180: d65f03c0  ret`

// TestCallTargets: each way to the call has its own target. Where one case leaves x2 as the caller had it, none is told.
func TestCallTargets(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "aarch64", Listing: chooser + `10000ac2  adr x2,400180` + chosen}).Function(at(0x400000))
	got := CallTargets(f, at(0x400030))
	slices.SortFunc(got, func(a, b disasm.Addr) int { return cmp.Compare(a.PC, b.PC) })
	if want := []disasm.Addr{at(0x400000), at(0x400100), at(0x400180)}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	f = analysis(t, codetest.Program{CPU: "aarch64", Listing: chooser + `d503201f  nop` + chosen}).Function(at(0x400000))
	if got := CallTargets(f, at(0x400030)); len(got) != 0 {
		t.Errorf("targets of a call of which one target is unknown: %v", got)
	}
	if _, ok := f.CallTarget(0x400030); ok {
		t.Error("one of the targets is taken for the only one")
	}
}
