package exception

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

func modules(m ...*target.Module) []*target.Module { return m }

// The recorded chains give the CFA of the handler, which is where the hardware
// put the frame.
func TestRecordedExceptions(t *testing.T) {
	n := 0
	for _, rec := range recorded.Cases(t, "cortexm3/*") {
		for _, c := range captured.Corpus(t, &rec, "naked") {
			for i, f := range c.Frames {
				if i > 0 && f.Kind == "interrupted" {
					n++
					checkInterrupted(t, &c, i)
				}
			}
		}
	}
	if n == 0 {
		t.Error("no exceptions in the corpus")
	}
	t.Log(n, "exceptions")
}

// checkInterrupted undoes the exception whose handler is the frame before frame i.
func checkInterrupted(t *testing.T, c *captured.Case, i int) {
	t.Helper()
	f, a, regs := &c.Frames[i], c.Snapshot.Arch, c.Snapshot.Threads[0].Regs
	regs.Set(a.SP, uint64(*c.Frames[i-1].CFA))
	s := stackwalk.State{Snapshot: c.Snapshot, Regs: &regs, PC: 0xffff_fff9, Mode: 1}
	var got stackwalk.Caller
	if v := (Source{}).Step(&s, &got); v != unwind.Found {
		t.Errorf("%s step %d: %v", c.Prog, c.Step, v)
		return
	}
	if pc := got.Regs.Val[a.PC]; pc != uint64(f.PC) || got.Regs.Val[a.SP] > uint64(*f.CFA) {
		t.Errorf("%s step %d: pc %#x sp %#x, want pc %#x below %#x", c.Prog, c.Step, pc, got.Regs.Val[a.SP], f.PC, *f.CFA)
	}
}
