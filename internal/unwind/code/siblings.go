package code

import (
	"slices"

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
	text, _ := m.Image.Segments.At(at - 1)
	own, isCall := c.own()
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

// straight tells whether a call goes to the callee's entry, if need be through a PLT stub, wherever it may have
// led to the callee at all. dash for MIPS calls evaltree through a register at 0x6774 of mipsel's, as one of
// several cases of a switch has it; the functions of the others come back before they would go on there.
func (c *frameCall) straight(call *cpu.CallSite) bool {
	if !call.Direct {
		return c.straightOnAllWays(disasm.Addr{PC: inImage(c.frame.Module, call.Addr), Mode: c.frame.Mode})
	}
	if c.entry == (disasm.Addr{PC: call.Target, Mode: call.TargetMode}) {
		return true
	}
	to, ok := c.src.Stub(c.snap, call.Target, call.TargetMode, c.callee.CallSite)
	c.alone = false
	return ok && to == c.entry.PC
}

// straightOnAllWays is straight for a call through a register.
func (c *frameCall) straightOnAllWays(site disasm.Addr) bool {
	t, m := targetsOf(c.prog, site), c.frame.Module
	strays := func(to disasm.Addr) bool {
		at := disasm.Addr{PC: m.ToTarget(to.PC), Mode: to.Mode}
		return at != c.entry && leads(c.src, c.snap, m, to, c.callee.CallSite) != unwind.No
	}
	return len(t.paths) > 0 && !slices.ContainsFunc(t.known, strays)
}
