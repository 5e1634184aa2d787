package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/target"
)

// again recovers the registers of a frame that was found before from its callee's registers. The
// source is asked for its answers until one leads to this very frame; false where none does.
func (f *finder) again(snap *target.Snapshot, callee, frame *Frame, in, out *cpu.Registers) bool {
	arch := snap.Arch
	s := State{Snapshot: snap, Regs: in, PC: callee.PC, Site: callee.CallSite, Mode: callee.Mode, Exact: callee.Exact, Module: callee.Module}
	q, ok := queryOf(&s)
	src := ruleSource(f.sources, frame.Method)
	if !ok || src == nil || !callee.HasCFA {
		return false
	}
	for f.query = q; f.query.Try < maxTries; f.query.Try++ {
		f.rule.Reset()
		if src.Rule(&f.query, &f.rule) != Found {
			return false
		}
		res, oc := evaluate.Rule(arch, &f.rule, in, snap.Memory, snap.CodeMask, out)
		if oc != evaluate.Applied || res.CFA != callee.CFA {
			continue
		}
		if pc, _ := arch.SplitCode(res.PC); pc == frame.PC {
			return true
		}
	}
	return false
}
