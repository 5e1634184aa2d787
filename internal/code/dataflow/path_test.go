package dataflow

import (
	"testing"

	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/codetest"
)

// chooser calls what one of three cases has put in x2. The case in the middle replaces x20, which
// holds what the function was passed.
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

// TestCallPaths: each way to the call has its own target, and on each it is known whether x20 still
// holds what the function was passed. Where one case leaves x2 as the caller had it, no way is told.
func TestCallPaths(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "aarch64", Listing: chooser + `10000ac2  adr x2,400180` + chosen}).Function(at(0x400000))
	x20, _ := f.an.Arch.RegByName("x20")
	x0, _ := f.an.Arch.RegByName("x0")
	want := map[uint64]absint.Value{0x400100: absint.StartOf(x0), 0x400180: absint.StartOf(x0),
		0x400000: {Kind: absint.StartMemory, Base: absint.Base(x0), Off: 16}}
	paths := CallPaths(f, at(0x400030))
	if len(paths) != len(want) {
		t.Errorf("%d ways, want %d", len(paths), len(want))
	}
	for i := range paths {
		var st absint.State
		to := paths[i].Target.PC
		if w, ok := want[to]; !ok || !paths[i].StateAfterCall(&st) || st.Regs[x20] != w {
			t.Errorf("where %#x is called: x20 is %+v, want %+v", to, st.Regs[x20], w)
		}
	}
	var st absint.State
	if !f.StateAfterCall(at(0x400030), &st) || st.Regs[x20] != (absint.Value{}) {
		t.Error("the function itself has changed")
	}
	f = analysis(t, codetest.Program{CPU: "aarch64", Listing: chooser + `d503201f  nop` + chosen}).Function(at(0x400000))
	if paths := CallPaths(f, at(0x400030)); len(paths) != 0 {
		t.Errorf("%d ways to a call of which one target is unknown", len(paths))
	}
	if _, ok := f.CallTarget(0x400030); ok {
		t.Error("one of the targets is taken for the only one")
	}
}
