package badcall

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestTrampoline: a thread stops at each instruction of a trampoline as GCC puts it into a
// frame for Thumb-1. The caller's SP is where the trampoline's two words are off the stack.
//
//	b403 push {r0, r1}
//	4802 ldr  r0,[pc,#8]    the frame of the function around
//	4684 mov  ip,r0
//	4802 ldr  r0,[pc,#8]    the nested function
//	9001 str  r0,[sp,#4]
//	bd01 pop  {r0, pc}
func TestTrampoline(t *testing.T) {
	a := arm.Archs()[0]
	const frameAt, at = stackAt + 8, stackAt + 16
	for off, pushed := range map[uint64]uint64{0: 0, 2: 8, 4: 8, 6: 8, 8: 8, 10: 8} {
		stack := synth.Stack(a).Words(1, 2, 0, 0, 0x4802_b403, 0x4802_4684, 0xbd01_9001, frameAt, codeAt+1).Place(stackAt)
		snap := synth.Capture(a, []*target.Module{synth.Module(a, codeAt, thumbCode)}, stack)
		var regs cpu.Registers
		regs.Set(a.PC, at+off)
		regs.Set(a.SP, frameAt-pushed)
		regs.Set(a.LR, codeAt+3)
		regs.Set(a.Status, 1<<5) // Thumb
		var got stackwalk.Caller
		if v := (Source{}).Step(captured.State(snap, &regs, true), &got); v != unwind.Found || got.CFA != frameAt {
			t.Errorf("at +%d: %v, CFA %#x, want %#x", off, v, got.CFA, frameAt)
		}
	}
}
