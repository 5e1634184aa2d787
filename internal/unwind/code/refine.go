package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
)

// byFP takes CFA and return address from where the function finds them when it leaves, where a
// preserved register leads there and two paths in the function differ in SP: a call on one of
// them never returns, or SP moves in a loop. dash's readtoken1 calls alloca(64) in a loop around
// a switch; after each round the CFA is 64 bytes further from SP, and where it was from the frame
// pointer.
func (c *candidate) byFP(way *stackwalk.Rule, arch *cpu.Arch) {
	if c.fn.SPDiffers && c.CFA.Base == arch.SP && way.CFA.Kind == stackwalk.RegPlus && arch.Preserved.Has(way.CFA.Base) {
		c.CFA, c.RA = way.CFA, way.RA
	}
}

// holdsBehindCalls tells whether a rule from an entry holds where callees pop arguments and make their callers' frames. Behind such a call
// SP is not where it seems to be. The frame pointer is, once it points to the frame's record, and SP is if a return tells so, too, or
// nothing was called yet. V8's optimized code sets the frame pointer and pushes what its callees pop; its baseline code
// has a callee make the frame; HotSpot's optimized code has no frame pointer and pushes nothing.
func (s *search) holdsBehindCalls(c *candidate, st *absint.State) bool {
	return rules.ByFP(st, s.prog.Arch, &c.Rule) || c.Flags&stackwalk.Agreed != 0 || s.at.Exact && c.fn.Straight(s.at.PC)
}

// holdsBehindCalls is the same for the rule of a way out.
func (w *wayOut) holdsBehindCalls(arch *cpu.Arch) bool {
	return w.Calls == 0 && !w.Tail || w.rule.CFA.Kind == stackwalk.RegPlus && w.rule.CFA.Base == arch.FP
}

// reloaded takes the return address from the slot that the function goes back by, where
// several slots have held it, and returns what another one has as a second answer, nil where
// there is none. libgcc's _Unwind_Resume for ARM saves lr as the lr and as the pc of the
// registers that the unwinder changes, the pc first, and has lr reloaded behind the call,
// whether that call comes back or not. Once the unwinder has gone on to the caller's caller,
// the pc alone still tells the caller.
//
//	push {lr}; push {ip, lr}; push {r0-r12}; …; add r1, sp, #4
//	bl   __gnu_Unwind_Resume
//	ldr  lr, [sp, #64]; add sp, #72; bx lr
func (c *candidate) reloaded(flows *dataflow.Analysis, at rules.Point, st *absint.State) *candidate {
	arch := flows.Arch
	if c.RA.Kind != stackwalk.AtCFA || arch.CallPushesRA || !savedTwice(st, arch) {
		return nil
	}
	for _, path := range flows.ReturnPaths(at.Addr(), !at.Exact) {
		way := rules.FromPath(&path, arch)
		if way.RA.Kind == stackwalk.AtCFA && way.RA.Off != c.RA.Off && rules.Agrees(st, &way, arch) {
			c.Flags |= stackwalk.SavedTwice
			other := *c
			c.RA = way.RA
			return &other
		}
	}
	return nil
}

// savedTwice tells whether several slots hold the return address.
func savedTwice(st *absint.State, arch *cpu.Arch) bool {
	n := 0
	for i := range st.Slots {
		if st.Slots[i].Val == absint.StartOf(arch.LR) {
			n++
		}
	}
	return n > 1
}

// byHeights derives the rule from an entry of a function that was too large to be followed, by the pass
// that follows SP and saved registers alone. Example: the main function of a Rust program, of 70 KB, whose
// address a closure hands on.
func (s *search) byHeights(f *dataflow.Function, how origin) bool {
	table, frame := s.prog.Heights.In(f.Entry, s.at.Site)
	c := &candidate{how: how, fn: f, sound: true}
	if frame == nil || !table.MakesFrame || !rules.FromHeights(table, frame, s.prog.Arch, &c.Rule) {
		return false
	}
	s.forward = append(s.forward, c)
	return true
}
