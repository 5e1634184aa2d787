package exception

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/unwind"
)

// TestResumed: a task that was preempted stands behind the kernel's switch, in the way out of a trap; what is loaded there goes on.
func TestResumed(t *testing.T) {
	a := rv32()
	restore := []uint32{lw(t0, 0, sp), csrrw(0, mepc, t0), lw(ra, 4, sp), lw(t0, 8, sp), lw(a0, 12, sp), addi(sp, sp, 128), mret}
	for _, c := range []struct {
		name string
		code []uint32
		want unwind.Verdict
	}{
		{"the way out", restore, unwind.Found},
		{"a branch", listing([]uint32{bnez(a0, 8)}, restore), unwind.NoCaller},
		{"a PC that is not loaded", restore[2:], unwind.NoCaller},
	} {
		text := make([]byte, 0x800)
		binary.LittleEndian.PutUint32(text[0x100:], call)
		for i, w := range c.code {
			binary.LittleEndian.PutUint32(text[0x104+4*i:], w)
		}
		binary.LittleEndian.PutUint32(text[caller-flash-4:], call)
		snap := synth.Capture(a, modules(synth.Module(a, flash, text)), contextAt(a, taskSP-128, interrupted))
		var got stackwalk.Caller
		regs := synth.Regs(a, map[string]uint64{"pc": flash + 0x104, "sp": taskSP - 128, "s0": 0x88})
		if v := (Source{}).Step(captured.State(snap, regs, true), &got); v != c.want {
			t.Errorf("%s: %v, want %v", c.name, v, c.want)
			continue
		}
		if c.want != unwind.Found {
			continue
		}
		for name, want := range map[string]uint64{"pc": interrupted, "sp": taskSP, "ra": caller, "t0": 0x55, "a0": 0xaa, "s0": 0x88} {
			r, _ := a.RegByName(name)
			if v, ok := got.Regs.Lookup(r); !ok || v != want {
				t.Errorf("%s: %s = %#x, want %#x", c.name, name, v, want)
			}
		}
	}
}
