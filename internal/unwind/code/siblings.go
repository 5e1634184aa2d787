package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/unwind"
)

// siblings are the calls in the frame's function whose return address is one bit from the frame's,
// and which may have led to the callee.
func (c *frameCall) siblings() (list []cpu.CallSite) {
	m := c.frame.Module
	at := inImage(m, c.frame.PC)
	text, ok := m.Image.Segments.At(at - 1)
	own, isCall := cpu.CallSite{}, false
	if ok {
		own, isCall = callsite.InSegment(m, text, at, c.frame.Mode)
	}
	if !isCall {
		return nil
	}
	for _, other := range callsite.OneBitAway(m, text, at, c.frame.Mode) {
		within := c.src.Witnesses().WithinInstruction(m, other.Addr, c.frame.Mode)
		if c.fn.Contains(inImage(m, other.Addr)) && !within && c.mayCall(&own, &other) {
			list = append(list, other)
		}
	}
	return list
}

// mayCall tells whether another call may have led to the callee as well as the frame's own.
func (c *frameCall) mayCall(own, other *cpu.CallSite) bool {
	if !other.Direct {
		if c.src.Witnesses().MayCall(c.snap, other.Addr, c.frame.Mode, c.callee.CallSite) == unwind.No {
			c.alone = c.alone && !callAt(c.prog, disasm.Addr{PC: inImage(c.frame.Module, other.Addr), Mode: c.frame.Mode}).bySlot
			return false
		}
		m, _ := c.snap.ModuleAt(c.callee.CallSite)
		return !own.Direct || c.src.Witnesses().CalledByPointer(m, c.callee.CallSite, c.callee.Mode) == unwind.Yes
	}
	if own.Direct && own.Target == other.Target {
		return true
	}
	if c.steps > maxCallSteps {
		return true
	}
	a, alone, cost := c.src.Reaches(c.snap, other.Target, other.TargetMode, c.callee.CallSite)
	c.alone, c.steps = c.alone && alone, c.steps+int(cost)
	return a == unwind.Yes || a == unwind.YesByJump
}

// straight tells whether a direct call goes to the callee's entry, if need be through a PLT stub.
func (c *frameCall) straight(call *cpu.CallSite) bool {
	if !call.Direct {
		return false
	}
	if c.entry == (disasm.Addr{PC: call.Target, Mode: call.TargetMode}) {
		return true
	}
	to, ok := c.src.Stub(c.snap, call.Target, call.TargetMode, c.callee.CallSite)
	c.alone = false
	return ok && to == c.entry.PC
}
