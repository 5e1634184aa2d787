package report

import (
	"fmt"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestStackUsage: a leaf without a frame takes nothing; the sizes sum up to the depth; a
// handler on a stack of its own does not count for the stack that it interrupted; of the
// outermost frame nobody knows the size.
func TestStackUsage(t *testing.T) {
	arch := &cpu.Arch{RegisterFile: cpu.RegisterFile{SP: 1}}
	thread := target.Thread{}
	thread.Regs.Set(arch.SP, 0x1000)
	th := Thread{Thread: &thread}
	for _, cfa := range []uint64{0x1000, 0x1020, 0x800, 0x860, 0x8a0, 0} {
		th.Frames = append(th.Frames, Frame{Frame: unwind.Frame{CFA: cfa, HasCFA: cfa != 0}})
	}
	want := "[{0 32 true} {32 32 true} {0 0 false} {96 160 true} {64 64 true} {0 0 false}]"
	if got := fmt.Sprint(th.StackUsage(arch)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
