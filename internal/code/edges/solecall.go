package edges

import (
	"slices"
	"weak"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// maxLeftOut bounds the calls of a function that are left out one by one.
const maxLeftOut = 64

// maxCallSteps bounds the instructions executed for the questions about one call. Most of the functions were
// analysed already, for the frames' rules.
const maxCallSteps = 1 << 19

// frameCall is the call of a frame, and what is asked of that: whether another call may have led to the callee.
type frameCall struct {
	src           *Graph
	snap          *target.Snapshot
	callee, frame *unwind.Frame
	prog          *program           // of the frame
	fn            *dataflow.Function // of the frame
	steps         int                // instructions executed
}

// SoleCall implements unwind.CallGraph. Example: md_write in libcrypto calls BIO_write, BIO_clear_retry_flags,
// BIO_copy_next_retry and EVP_DigestUpdate. The last one ends in a jump through a pointer, to whichever digest;
// the others come back before they would jump there. So EVP_DigestUpdate was called.
func (w *Graph) SoleCall(snap *target.Snapshot, callee, f *unwind.Frame) bool {
	byJump := f.Checks&unwind.TargetMatches != 0
	return w.ofCall(snap, callee, f, callQuestion{sole: true, byJump: byJump}, func(c *frameCall) bool { return c.only(byJump) })
}

// MayJump implements unwind.CallGraph. Example: EVP_DigestUpdate, and SHA256_Update, to which tables point.
func (w *Graph) MayJump(snap *target.Snapshot, callee, f *unwind.Frame) bool {
	return w.ofCall(snap, callee, f, callQuestion{}, func(c *frameCall) bool {
		own, is := c.own()
		return is && c.jumpsByPointer(&own)
	})
}

// callQuestion is a question about a frame's call: the callee's module, which is one process's, its place, and the
// return address to the caller, target addresses. byJump: the call is known to lead to the callee by way of a jump.
type callQuestion struct {
	callee       weak.Pointer[target.Module]
	pc, ra       uint64
	mode         cpu.Mode
	sole, byJump bool
}

// ofCall answers q about the call before frame f's PC, by answer where nobody asked before. The words of the capture are
// left aside, so that the answer is the same for all stacks of a process: a profile asks the same for each of them.
func (w *Graph) ofCall(snap *target.Snapshot, callee, f *unwind.Frame, q callQuestion, answer func(*frameCall) bool) bool {
	_, p := moduleAt(w, snap, f.CallSite)
	to, known := snap.ModuleAt(callee.CallSite)
	if p == nil || f.Module == nil || !known {
		return false
	}
	q.callee, q.pc, q.ra, q.mode = weak.Make(to), callee.CallSite, f.PC, f.Mode
	if a, ok := p.memos.ofCalls.Find(q); ok {
		return a
	}
	bare := *snap
	bare.Memory = new(target.Builder).Memory(snap.Arch)
	a := answer(&frameCall{src: w, snap: &bare, callee: callee, frame: f, prog: p})
	p.memos.ofCalls.Keep(q, a)
	return a
}

// own is the call's instruction.
func (c *frameCall) own() (call cpu.CallSite, ok bool) {
	m := c.frame.Module
	at := inImage(m, c.frame.PC)
	text, ok := m.Image.Segments.At(at - 1)
	if !ok {
		return call, false
	}
	return callsite.InSegment(m, text, at, c.frame.Mode)
}

// only tells whether no call of the frame's function but the frame's own can have led to the callee. byJump: that one is
// known to, by way of a jump.
func (c *frameCall) only(byJump bool) bool {
	m := c.frame.Module
	site := disasm.Addr{PC: inImage(m, c.frame.CallSite), Mode: c.frame.Mode}
	text, ok := m.Image.Segments.At(site.PC)
	c.fn = c.caller(site)
	if !ok || c.fn == nil || !c.fn.Complete {
		return false
	}
	own, is := c.own()
	if !is || !byJump && !c.jumpsByPointer(&own) {
		return false
	}
	left, none := maxLeftOut, true
	dataflow.EachBehindTransfer(c.fn, func(ra disasm.Addr) bool {
		call, is := callsite.InSegment(m, text, ra.PC, ra.Mode)
		if is && call.Addr != c.frame.CallSite {
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
	w := tailWalk{src: c.src, snap: c.snap, pc: c.callee.CallSite}
	may := own.Direct && w.mayComeFrom(disasm.Addr{PC: own.Target, Mode: own.TargetMode})
	c.steps += w.cost
	return may && w.byPointer && c.mayBePointedTo()
}

// mayBePointedTo tells whether data holds the address of the callee's function, or lists the function for relocations
// and other files (a relocation with the symbol of libcrypto's SHA256_Update puts that into a table), or code builds the
// address: a command of cmake has a table of its subcommands, which code for Thumb fills on the stack.
func (c *frameCall) mayBePointedTo() bool {
	m, p := moduleAt(c.src, c.snap, c.callee.CallSite)
	if p == nil {
		return false
	}
	at := disasm.Addr{PC: inImage(m, c.callee.CallSite), Mode: c.callee.Mode}
	begins := p.beginnings(at)
	if f := owner(p, at); f != nil && !slices.Contains(begins, f.Entry) {
		begins = []disasm.Addr{f.Entry} // to which only pointers lead
	}
	return len(begins) > 0 && p.memos.held.Get(begins[0], func() bool {
		return slices.ContainsFunc(begins, func(entry disasm.Addr) bool {
			s := callerSearch{p, m, entry}
			return s.heldInData() || p.Entries.BuiltByCode(entry)
		})
	})
}

// leavesOut tells whether a call certainly did not lead to the callee.
func (c *frameCall) leavesOut(own, call *cpu.CallSite, mode cpu.Mode) bool {
	entry, entryMode := call.Target, call.TargetMode
	switch {
	case call.Direct && own.Direct && entry == own.Target:
		return false
	case !call.Direct:
		var known bool
		if entry, entryMode, known = c.src.Callee(c.snap, call.Addr, mode); !known {
			return c.src.MayCall(c.snap, call.Addr, mode, c.callee.CallSite) == unwind.No
		}
	}
	w := tailWalk{src: c.src, snap: c.snap, pc: c.callee.CallSite}
	may := w.mayComeFrom(disasm.Addr{PC: entry, Mode: entryMode})
	c.steps += w.cost
	return !may
}

// mayComeFrom tells whether control may come to w.pc as part of a call of entry. Imports are the functions of their
// names, whichever module the dynamic linker takes them from.
func (w *tailWalk) mayComeFrom(entry disasm.Addr) bool {
	w.todo.add(entry)
	for n := 0; n < w.todo.n; n++ {
		if n == maxTailJumps || w.mayHave(w.todo.all[n]) {
			return true
		}
	}
	return false
}

// mayHave tells whether the function at an entry may have w.pc, or jump there, and adds those that the
// function jumps to.
func (w *tailWalk) mayHave(to disasm.Addr) bool {
	m, p := moduleAt(w.src, w.snap, to.PC)
	if p == nil || w.thunk(to) {
		return true
	}
	entry := disasm.Addr{PC: inImage(m, to.PC), Mode: to.Mode}
	if slot, ok := importAt(p, entry); ok {
		return w.mayBind(m, slot) || !w.addBound(p, m, slot, entry.PC, true)
	}
	f := p.Flows.Function(entry)
	w.cost, w.byPointer = w.cost+f.Steps(), w.byPointer || f.LeavesByPointer
	pc := inImage(m, w.pc)
	if !f.Complete || m.Contains(w.pc) && (f.Contains(pc) || !w.elsewhere(to) && !standsApart(p, disasm.Addr{PC: pc, Mode: to.Mode}, entry.PC)) {
		return true
	}
	w.addTails(m, f.Tails)
	return false
}

// mayBind tells whether a stub of m, which jumps through the word at an image address, may lead to w.pc to have its import
// bound: into the dynamic linker, a file that starts without another. Which word was there is not known.
func (w *tailWalk) mayBind(m *target.Module, slot uint64) bool {
	linker, ok := w.snap.ModuleAt(w.pc)
	_, captured := w.snap.Memory.Word(m.ToTarget(slot))
	return !captured && ok && linker != m && linker.Image != nil && linker.Image.Entry != 0 && !linker.Image.Interpreted
}

// standsApart tells whether a place is in a function that stands on its own, and does not have the one at entry:
// then the place is no landing pad of that one. Example: functions of cmake to which only pointers lead lie
// in front of a constructor that is called once; no entry is certain between.
func standsApart(p *program, at disasm.Addr, entry uint64) bool {
	f := pointedOwner(p, at)
	return f != nil && f.Complete && !f.Contains(entry)
}

// caller is the function that makes the call at a site, nil if nobody knows.
func (c *frameCall) caller(site disasm.Addr) *dataflow.Function {
	if f := c.holding(c.prog, site); f != nil {
		return f
	}
	return pointedOwner(c.prog, site)
}

// holding is the function of the nearest certain entries that has a place, nil if none has.
func (c *frameCall) holding(p *program, at disasm.Addr) *dataflow.Function {
	for _, e := range p.Entries.Below(at) {
		if c.steps > maxCallSteps {
			return nil
		}
		f := p.Flows.Function(disasm.Addr{PC: e, Mode: at.Mode})
		if c.steps += f.Steps(); f.Contains(at.PC) && !f.ByGuess(at.PC) {
			return f
		}
	}
	return nil
}
