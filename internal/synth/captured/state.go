// Package captured hands real captures to tests: the snapshots of the recorded
// truth, and core files with the programs that dumped them. Only tests import it.
package captured

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// Archs are all processors.
func Archs() cpu.Set {
	var s cpu.Set
	for _, list := range [][]*cpu.Arch{mips.Archs(), arm.Archs(), arm64.Archs(), riscv.Archs(), x86.Archs()} {
		s = append(s, list...)
	}
	return s
}

// State is a frame with these registers, about to be unwound.
func State(s *target.Snapshot, regs *cpu.Registers, exact bool) *stackwalk.State {
	st := &stackwalk.State{Snapshot: s, Thread: &target.Thread{Regs: *regs}, Regs: regs, Exact: exact, Limit: stackwalk.MaxCost}
	st.PC, st.Mode, _ = s.Arch.PCOf(regs)
	st.Site = st.PC
	if !exact {
		st.Site--
		if site, a := callsite.Before(s, st.PC, st.Mode); a == callsite.Call {
			st.Site = site.Addr
		}
	}
	st.Module, _ = s.ModuleAt(st.Site)
	if sp, ok := regs.Lookup(s.Arch.SP); ok {
		st.Stack = s.Memory.RangeAt(sp & s.Arch.AddrMask())
	}
	return st
}
