package exception

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestKernelRegs: entry code of i386 calls C with SP where the registers of interrupted code of the kernel lie. CS is marked,
// and the stack pointer is one of the same stack.
func TestKernelRegs(t *testing.T) {
	i386 := archNamed(t, "i386")
	const code, stackAt = 0xc100_0000, 0xc200_0000
	const ip, sp = code + 0x800, stackAt + 0x80
	regs := []uint64{1, 2, 3, 4, 5, stackAt + 0x90, 7, 0x7b, 0x7b, 0xd8, 0, 0xffff_ffff, ip, 0x2000_0060, 0x246, sp, 0x68}
	for _, c := range []struct {
		name  string
		word  int // of the registers, with another value
		value uint64
		want  unwind.Verdict
	}{
		{"as they are", 0, 1, unwind.Found},
		{"CS without the mark", 13, 0x60, unwind.NotCovered},
		{"user space", 13, 0x73, unwind.NotCovered},
		{"another stack's segment", 16, 0x7b, unwind.NotCovered},
		{"flags that no processor has", 14, 0x244, unwind.NotCovered},
		{"an SP below the registers", 15, stackAt - 8, unwind.NotCovered},
		{"an SP of another stack", 15, stackAt + 0x10_0000, unwind.NotCovered},
		{"interrupted where no code is", 12, 0x1234, unwind.NotCovered},
	} {
		words := append([]uint64(nil), regs...)
		words[c.word] = c.value
		stack := synth.Stack(i386).Words(words...).Zero(0x100).Place(stackAt)
		snap := synth.Capture(i386, []*target.Module{synth.Module(i386, code, make([]byte, 0x1000))}, stack)
		snap.OS = "Linux"
		s := captured.State(snap, synth.Regs(i386, map[string]uint64{"pc": code + 0x100, "sp": stackAt}), false)
		s.Thread.Stack = target.Range{Lo: stackAt - 0x1000, Hi: stackAt + 0x1000}
		var out stackwalk.Caller
		if got := (Source{}).Step(s, &out); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if ebx, _ := i386.RegByName("ebx"); c.want == unwind.Found &&
			(out.Regs.Val[i386.PC] != ip || out.Regs.Val[i386.SP] != sp || out.CFA != sp || out.Regs.Val[ebx] != 1 || out.Regs.Val[i386.FP] != stackAt+0x90 || !out.Exact) {
			t.Errorf("%s: %+v", c.name, out)
		}
		s.Exact = true
		if got := (Source{}).Step(s, &out); got != unwind.NotCovered {
			t.Errorf("%s, and no call was made: %v", c.name, got)
		}
	}
}
