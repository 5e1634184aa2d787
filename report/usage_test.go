package report

import (
	"fmt"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestStackUsageListed: of frames that the capture lists, code tells the sizes. The depth is at least their sum where one
// is missing.
func TestStackUsageListed(t *testing.T) {
	th := Thread{Thread: new(target.Thread)}
	for _, size := range []uint64{16, 64, 0, 32, 0} {
		th.Frames = append(th.Frames, Frame{Frame: new(unwind.Frame), Details: &Details{Size: size, HasSize: size != 0}})
	}
	const want = "[{16 112 true true} {64 96 true true} {0 0 false false} {32 32 false true} {0 0 false false}]"
	if got := fmt.Sprint(th.StackUsage(&target.Snapshot{Arch: new(cpu.Arch)})); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestStackUsage: a leaf without a frame takes nothing; the sizes sum up to the depth; of the outermost frame
// nobody knows the size. A handler on a stack of its own does not count for the stack that it interrupted,
// wherever that stack lies: below, above a hole in memory, or where the thread's bounds say so.
func TestStackUsage(t *testing.T) {
	below := []uint64{0x1000, 0x1020, 0x800, 0x860, 0x8a0, 0}
	above := []uint64{0x1000, 0x1020, 0x9000, 0x9060, 0x90a0, 0}
	const parted = "[{0 32 false true} {32 32 false true} {0 0 false false} {96 160 false true} {64 64 false true} {0 0 false false}]"
	for _, c := range []struct {
		name   string
		cfas   []uint64
		memory []target.Range
		stack  target.Range
		want   string
	}{
		{"below", below, nil, target.Range{}, parted},
		{"above a hole", above, []target.Range{{Lo: 0x1000, Hi: 0x1040}, {Lo: 0x8000, Hi: 0x9100}}, target.Range{}, parted},
		{"bounds", above, []target.Range{{Lo: 0x1000, Hi: 0x9100}}, target.Range{Lo: 0x8000, Hi: 0xa000}, parted},
		{"only the beginning was captured", []uint64{0x1010, 0x9000}, []target.Range{{Lo: 0x1000, Hi: 0x1040}}, target.Range{},
			"[{16 32768 false true} {32752 32752 false true}]"},
	} {
		var b target.Builder
		for _, r := range c.memory {
			b.Add(r.Lo, make([]byte, r.Hi-r.Lo), 0, target.PermRead)
		}
		arch := &cpu.Arch{RegisterFile: cpu.RegisterFile{SP: 1}}
		thread := target.Thread{Stack: c.stack}
		thread.Regs.Set(arch.SP, 0x1000)
		th := Thread{Thread: &thread}
		for _, cfa := range c.cfas {
			th.Frames = append(th.Frames, Frame{Frame: &unwind.Frame{CFA: cfa, HasCFA: cfa != 0}})
		}
		if got := fmt.Sprint(th.StackUsage(&target.Snapshot{Arch: arch, Memory: b.Memory(arch)})); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}
