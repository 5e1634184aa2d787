package dataflow

import (
	"testing"

	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestPoolBetweenFunctions: nobody names the function behind the pool, whose words decode as
// code that uses r6 and r7 as no function does at its beginning.
func TestPoolBetweenFunctions(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "arm", Mode: 1, Listing: `
	400000 <f>:
		400000: 4b01       ldr  r3, [pc, #4]
		400002: 447b       add  r3, pc
		400004: 4770       bx   lr
		400006: bf00       nop
		400008: 00098ab0   .word
		40000c: b510       push {r4, lr}
		40000e: f000 f812  bl   400036
		400012: bd10       pop  {r4, pc}`}).Function(thumb(0x400000))
	if next := f.SkipData(disasm.Addr{PC: f.ContiguousEnd(), Mode: 1}); next != 0x40000c {
		t.Errorf("the next function is at %#x", next)
	}
}

// TestCallBeforePool: a call that a literal pool stands behind never returns.
func TestCallBeforePool(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "arm", Mode: 1, Listing: `
	400000 <f>:
		400000: b510       push {r4, lr}
		400002: 4801       ldr  r0, [pc, #4]
		400004: f000 f812  bl   40002c
		400008: 00098ab0   .word
		40000c: e7fe       b.n  40000c`}).Function(thumb(0x400000))
	if f.Contains(0x400008) || f.Returns {
		t.Errorf("the pool is executed: %t; %+v", f.Contains(0x400008), f.Facts)
	}
}

// TestSavedDeadLink: behind a call of a function that is not at hand another function
// begins, for it saves LR. An mcount before the prologue is not such a call.
func TestSavedDeadLink(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "arm", Mode: 1, Listing: `
	400000 <f>:
		400000: b510       push {r4, lr}
		400002: f000 f814  bl   40002e
		400006: b570       push {r4, r5, r6, lr}
		400008: e7fe       b.n  400008`}).Function(thumb(0x400000))
	if f.Contains(0x400006) {
		t.Error("push {r4, r5, r6, lr} runs in the function that has called")
	}
	f = analysis(t, codetest.Program{CPU: "arm", Mode: 1, Listing: `
	400000 <f>:
		400000: f000 f814  bl   _mcount
		400004: b570       push {r4, r5, r6, lr}
		400006: bd70       pop  {r4, r5, r6, pc}`}).Function(thumb(0x400000))
	if !f.Contains(0x400004) {
		t.Error("mcount never returns")
	}
}
