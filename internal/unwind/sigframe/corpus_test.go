package sigframe

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

func modules(m ...*target.Module) []*target.Module { return m }

// The recorded chains name the interrupted PC but not SP at the trampoline. Of all
// the places on the stack where SP may be, exactly one must give the interrupted
// PC with an SP within the interrupted frame.
func TestRecordedSignals(t *testing.T) {
	all := 0
	for _, rec := range recorded.Cases(t, "*/*-O[02]") {
		t.Run(rec.Name, func(t *testing.T) {
			n := 0
			for _, c := range captured.Corpus(t, &rec, "naked") {
				for i, f := range c.Frames[1:] {
					if f.Kind == "sigtramp" {
						n++
						checkSignal(t, &c, i+1)
					}
				}
			}
			all += n
			t.Log(n, "signal frames")
		})
	}
	if all == 0 {
		t.Error("no signal frame was recorded")
	}
}

func checkSignal(t *testing.T, c *captured.Case, i int) {
	t.Helper()
	snap := c.Snapshot
	a := snap.Arch
	tramp, interrupted := uint64(c.Frames[i].PC), &c.Frames[i+1]
	regs := snap.Threads[0].Regs
	sp := regs.Val[a.SP] & a.AddrMask()
	found := 0
	for stack := snap.Memory.RangeAt(sp); stack.Contains(sp); sp += uint64(a.RegSize) {
		for mode := range cpu.Mode(2) {
			regs.Set(a.SP, sp)
			s := stackwalk.State{Snapshot: snap, Regs: &regs, PC: tramp, Mode: mode}
			var got stackwalk.Caller
			if (Source{}).Step(&s, &got) != unwind.Found {
				continue
			}
			pc, _, _ := a.PCOf(&got.Regs)
			if pc == uint64(interrupted.PC) && got.CFA > sp && got.CFA <= uint64(*interrupted.CFA) {
				found++
			}
		}
	}
	if found != 1 {
		t.Errorf("%s step %d frame %d: %d places give the interrupted pc %#x", c.Prog, c.Step, i, found, interrupted.PC)
	}
}
