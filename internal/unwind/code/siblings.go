package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/unwind"
)

// siblings are the calls in the frame's function whose return address is one bit from the frame's,
// and which may have led to the callee.
func (t *telling) siblings() (list []cpu.CallSite) {
	m := t.frame.Module
	at := inImage(m, t.frame.PC)
	text, ok := m.Image.Segments.At(at - 1)
	own, isCall := cpu.CallSite{}, false
	if ok {
		own, isCall = callsite.InSegment(m, text, at, t.frame.Mode)
	}
	if !isCall {
		return nil
	}
	for _, other := range callsite.OneBitAway(m, text, at, t.frame.Mode) {
		within := t.src.Witnesses().WithinInstruction(m, other.Addr, t.frame.Mode)
		if t.fn.Contains(inImage(m, other.Addr)) && !within && t.mayCall(&own, &other) {
			list = append(list, other)
		}
	}
	return list
}

// mayCall tells whether another call may have led to the callee as well as the frame's own.
func (t *telling) mayCall(own, other *cpu.CallSite) bool {
	if !other.Direct {
		m, _ := t.snap.ModuleAt(t.callee.CallSite)
		return !own.Direct || t.src.Witnesses().CalledByPointer(m, t.callee.CallSite, t.callee.Mode) == unwind.Yes
	}
	if own.Direct && own.Target == other.Target {
		return true
	}
	if t.steps > maxTelling {
		return true
	}
	a, alone, cost := t.src.Reaches(t.snap, other.Target, other.TargetMode, t.callee.CallSite)
	t.alone, t.steps = t.alone && alone, t.steps+int(cost)
	return a == unwind.Yes || a == unwind.YesByJump
}

// straight tells whether a direct call goes to the callee's entry, if need be through a PLT stub.
func (t *telling) straight(call *cpu.CallSite) bool {
	if !call.Direct {
		return false
	}
	if t.entry == (disasm.Addr{PC: call.Target, Mode: call.TargetMode}) {
		return true
	}
	to, ok := t.src.Stub(t.snap, call.Target, call.TargetMode, t.callee.CallSite)
	t.alone = false
	return ok && to == t.entry.PC
}
