package unwind

import "github.com/backsight/backsight/cpu"

// oneBitAway tells whether a return address that differs in one bit follows a call that
// may have led to the callee as well as the one at site: one of the same function, or,
// where the call is indirect, another such or one of the callee. What is further away
// than farBit is another function, with another frame.
func (w *Walker) oneBitAway(site cpu.CallSite) bool {
	const farBit = 1 << 16
	c := &w.try
	m := c.module
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return false
	}
	arch := m.Image.Arch
	at := m.ToImage(c.pc) & arch.AddrMask()
	text, ok := m.Image.Segment(at - 1)
	if !ok || !text.Exec {
		return false
	}
	for bit := max(arch.InsnAlign, 1); bit < farBit; bit <<= 1 {
		if other, ok := callIn(m, text, at^bit, c.mode); ok && w.asGood(site, other) {
			return true
		}
	}
	return false
}

// asGood tells whether the call other may have led to the callee as well as that at site. What goes straight to the callee is told by its target;
// what comes there by a jump, or is indirect, has others like it.
func (w *Walker) asGood(site, other cpu.CallSite) bool {
	switch {
	case site.Direct && other.Direct && other.Target == site.Target:
		return true
	case !other.Direct:
		return !site.Direct
	case w.try.checks.proven():
		return false
	case w.try.flags&StartStated != 0:
		return w.startsAt(other.Target) // the table tells; to follow jumps is much work
	}
	a, alone := w.opt.CallGraph.Reaches(w.snap, other.Target, other.TargetMode, w.state.Site)
	w.try.alone = w.try.alone && alone
	return a == Yes || a == YesByJump
}
