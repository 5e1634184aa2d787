package edges

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/heights"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// Entered implements stackwalk.CallGraph. Code of GHC jumps to code of GHC; the first is jumped to by a function of its
// run-time system, which the last jumps back to:
//
//	StgRun     push {r4, …, lr}; push {r4, …, ip, lr}; vpush {d8-d11}; sub sp, sp, #8192; bx r0
//	StgReturn  add sp, sp, #8192; …; pop {r4, …, pc}
//
// The first entry of a PLT keeps the return address for the resolver alone.
func (g *Graph) Entered(snap *target.Snapshot, call cpu.CallSite) []stackwalk.Rule {
	p, ok := capture{g, snap}.find(disasm.Addr{PC: call.Target, Mode: call.TargetMode})
	if !ok || !call.Direct {
		return nil
	}
	if _, stub := p.Callees.StubSlot(p.at); stub {
		return nil
	}
	return p.memos.framed.Get(p.at, func() []stackwalk.Rule { return framedJumps(p.program, p.at) })
}

// LeafFrames implements stackwalk.CallGraph.
func (g *Graph) LeafFrames(snap *target.Snapshot, call cpu.CallSite, mode cpu.Mode) (sizes [stackwalk.MaxLeafFrames]int64) {
	to, ok := disasm.Addr{PC: call.Target, Mode: call.TargetMode}, true
	if !call.Direct {
		to.PC, to.Mode, ok = g.Callee(snap, call.Addr, mode)
	}
	p, has := capture{g, snap}.find(to)
	if !ok || !has {
		return sizes
	}
	table := p.Heights.Of(p.at)
	if table == nil || slices.ContainsFunc(table.Frames, func(r heights.SavedRegs) bool { return !r.Kept.Has(p.Arch.LR) }) {
		return sizes
	}
	n := 0
	for _, r := range table.Frames {
		if size := -int64(r.SP); size > 0 && n < len(sizes) && !slices.Contains(sizes[:n], size) {
			sizes[n] = size
			n++
		}
	}
	return sizes
}

// framedJumps are the rules at the jumps of the function at an entry that leave its frame in place.
func framedJumps(p *program, entry disasm.Addr) (list []stackwalk.Rule) {
	others := (^cpu.RegSet(0) >> (64 - len(p.Arch.Regs))).Without(p.Arch.SP)
	dataflow.AtFramedJumps(p.Flows.Function(entry), func(st *absint.State) {
		var r stackwalk.Rule
		r.Reset()
		st.Forget(others)
		same := func(o stackwalk.Rule) bool { return o.Equal(&r, p.Arch.Preserved) }
		if rules.FromState(st, p.Arch, &r) && !slices.ContainsFunc(list, same) {
			list = append(list, r)
		}
	})
	return list
}
