package edges

import (
	"weak"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// maxLeftOut bounds the calls of a function that are left out one by one.
const maxLeftOut = 64

// maxCallSteps bounds the instructions executed for the questions about one call. Most of the functions were
// analysed already, for the frames' rules.
const maxCallSteps = 1 << 19

// frameCall is the call of a frame, of which is asked whether another call may have led to the callee.
type frameCall struct {
	capture
	callee *unwind.Frame
	site   place // of the call
	after  place // where the call returns to
	steps  int   // instructions executed
}

// SoleCall implements stackwalk.CallGraph. Example: md_write in libcrypto calls BIO_write, BIO_clear_retry_flags,
// BIO_copy_next_retry and EVP_DigestUpdate. The last one ends in a jump through a pointer, to whichever digest;
// the others come back before they would jump there. So EVP_DigestUpdate was called.
func (g *Graph) SoleCall(snap *target.Snapshot, callee, f *unwind.Frame) bool {
	byJump := f.Checks&unwind.TargetMatches != 0
	return g.ofCall(snap, callee, f, callQuestion{sole: true, byJump: byJump}, func(c *frameCall) bool { return c.only(byJump) })
}

// MayJump implements stackwalk.CallGraph. Example: EVP_DigestUpdate, and SHA256_Update, to which tables point.
func (g *Graph) MayJump(snap *target.Snapshot, callee, f *unwind.Frame) bool {
	return g.ofCall(snap, callee, f, callQuestion{}, func(c *frameCall) bool {
		own, is := c.after.callBefore()
		return is && c.jumpsByPointer(&own)
	})
}

// ofCall answers q about the call before frame f's PC, by answer where nobody asked before. The words of the capture are
// left aside, so that the answer is the same for all stacks of a process: a profile asks the same for each of them.
func (g *Graph) ofCall(snap *target.Snapshot, callee, f *unwind.Frame, q callQuestion, answer func(*frameCall) bool) bool {
	all := capture{g, snap}
	site, ok := all.find(disasm.Addr{PC: f.CallSite, Mode: f.Mode})
	to, known := snap.ModuleAt(callee.CallSite)
	if !ok || f.Module == nil || !known {
		return false
	}
	q.callee, q.pc, q.ra, q.mode = weak.Make(to), callee.CallSite, f.PC, f.Mode
	if a, ok := site.memos.ofCalls.Find(q); ok {
		return a
	}
	bare := *snap
	bare.Memory = new(target.Builder).Memory(snap.Arch)
	after, _ := g.in(f.Module, f.PC, f.Mode)
	a := answer(&frameCall{capture: capture{g, &bare}, callee: callee, site: site, after: after})
	site.memos.ofCalls.Keep(q, a)
	return a
}

// only tells whether no call of the frame's function but the frame's own can have led to the callee. byJump: that one is
// known to, by way of a jump.
func (c *frameCall) only(byJump bool) bool {
	fn := c.caller()
	if fn == nil || !fn.Complete {
		return false
	}
	own, is := c.after.callBefore()
	if !is || !byJump && !c.jumpsByPointer(&own) {
		return false
	}
	left, none := maxLeftOut, true
	dataflow.EachBehindTransfer(fn, func(ra disasm.Addr) bool {
		call, is := place{c.site.program, c.site.m, ra}.callBefore()
		if is && inImage(c.site.m, call.Addr) != c.site.at.PC {
			left--
			none = left > 0 && c.steps <= maxCallSteps && c.leavesOut(&own, &call, ra.Mode)
		}
		return none
	})
	return none
}

// jumpsByPointer tells whether a direct call may lead to the callee by a jump through a pointer: some
// function ends in such a jump, and a pointer may lead to the callee.
func (c *frameCall) jumpsByPointer(own *cpu.CallSite) bool {
	w := tailWalk{capture: c.capture, pc: c.callee.CallSite}
	may := own.Direct && w.mayComeFrom(disasm.Addr{PC: own.Target, Mode: own.TargetMode})
	if c.steps += w.cost; !may || !w.byPointer {
		return false
	}
	to, ok := c.find(disasm.Addr{PC: c.callee.CallSite, Mode: c.callee.Mode})
	return ok && to.mayBePointedTo()
}

// leavesOut tells whether a call certainly did not lead to the callee.
func (c *frameCall) leavesOut(own, call *cpu.CallSite, mode cpu.Mode) bool {
	entry, entryMode := call.Target, call.TargetMode
	switch {
	case call.Direct && own.Direct && entry == own.Target:
		return false
	case !call.Direct:
		var known bool
		if entry, entryMode, known = c.Callee(c.snap, call.Addr, mode); !known {
			return c.MayCall(c.snap, call.Addr, mode, c.callee.CallSite) == stackwalk.No
		}
	}
	w := tailWalk{capture: c.capture, pc: c.callee.CallSite}
	may := w.mayComeFrom(disasm.Addr{PC: entry, Mode: entryMode})
	c.steps += w.cost
	return !may
}

// caller is the function that makes the call, nil if nobody knows.
func (c *frameCall) caller() *dataflow.Function {
	at := c.site.at
	for _, e := range c.site.Entries.Below(at) {
		if c.steps > maxCallSteps {
			break
		}
		f := c.site.Flows.Function(disasm.Addr{PC: e, Mode: at.Mode})
		if c.steps += f.Steps(); follows(f, at.PC) {
			return f
		}
	}
	return c.site.pointedOwner(at)
}
