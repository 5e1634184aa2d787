package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// maxLeftOut bounds the calls of a function that are left out one by one.
const maxLeftOut = 64

// SoleCall implements unwind.Witnesses. Example: md_write in libcrypto calls BIO_write, BIO_clear_retry_flags,
// BIO_copy_next_retry and EVP_DigestUpdate. The last one ends in a jump through a pointer, to whichever digest;
// the others come back before they would jump there. So EVP_DigestUpdate was called.
func (w witnesses) SoleCall(snap *target.Snapshot, callee, f *unwind.Frame) bool {
	_, p := moduleAt(w.src, snap, f.CallSite)
	if p == nil || f.Module == nil {
		return false
	}
	t := telling{src: w.src, snap: snap, callee: callee, frame: f, prog: p, alone: true}
	return t.only()
}

// only tells whether no call of the frame's function but the frame's own can have led to the callee.
func (t *telling) only() bool {
	m := t.frame.Module
	site := disasm.Addr{PC: inImage(m, t.frame.CallSite), Mode: t.frame.Mode}
	text, ok := m.Image.Segments.At(site.PC)
	if t.fn = t.holding(t.prog, site); t.fn == nil {
		t.fn = pointedOwner(t.prog, site)
	}
	if !ok || t.fn == nil || !t.fn.Complete {
		return false
	}
	own, is := callsite.InSegment(m, text, inImage(m, t.frame.PC), t.frame.Mode)
	if !is || t.frame.Checks&unwind.TargetMatches == 0 && !t.jumpsByPointer(&own) {
		return false
	}
	left, none := maxLeftOut, true
	dataflow.EachBehindTransfer(t.fn, func(ra disasm.Addr) bool {
		call, is := callsite.InSegment(m, text, ra.PC, ra.Mode)
		if is && call.Addr != t.frame.CallSite {
			left--
			none = left > 0 && t.steps <= maxTelling && t.leavesOut(&own, &call, ra.Mode)
		}
		return none
	})
	return none
}

// jumpsByPointer tells whether a direct call may lead to the callee by a jump through a pointer: some
// function ends in such a jump, and a pointer may lead to the callee.
func (t *telling) jumpsByPointer(own *cpu.CallSite) bool {
	w := tailWalk{src: t.src, snap: t.snap, pc: t.callee.CallSite}
	may := own.Direct && w.mayComeFrom(disasm.Addr{PC: own.Target, Mode: own.TargetMode})
	t.steps += w.cost
	return may && w.byPointer && t.mayBePointedTo()
}

// mayBePointedTo tells whether data holds the address of the callee's function, or lists the function for relocations
// and other files: a relocation with the symbol of libcrypto's SHA256_Update puts that into a table. Whether code
// alone builds the address only a pass through all code would tell.
func (t *telling) mayBePointedTo() bool {
	m, p := moduleAt(t.src, t.snap, t.callee.CallSite)
	if p == nil {
		return false
	}
	begins := p.beginnings(disasm.Addr{PC: inImage(m, t.callee.CallSite), Mode: t.callee.Mode})
	return len(begins) > 0 && p.memos.held.Get(begins[0], func() bool {
		return slices.ContainsFunc(begins, func(entry disasm.Addr) bool {
			s := callerSearch{p, m, entry}
			return s.heldInData()
		})
	})
}

// leavesOut tells whether a call certainly did not lead to the callee.
func (t *telling) leavesOut(own, call *cpu.CallSite, mode cpu.Mode) bool {
	entry, entryMode := call.Target, call.TargetMode
	switch {
	case call.Direct && own.Direct && entry == own.Target:
		return false
	case !call.Direct:
		var known bool
		if entry, entryMode, known = t.src.Callee(t.snap, call.Addr, mode); !known {
			return t.src.Witnesses().MayCall(t.snap, call.Addr, mode, t.callee.CallSite) == unwind.No
		}
	}
	w := tailWalk{src: t.src, snap: t.snap, pc: t.callee.CallSite}
	may := w.mayComeFrom(disasm.Addr{PC: entry, Mode: entryMode})
	t.steps += w.cost
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
		before := w.todo.n
		w.addBound(p, m, slot, entry.PC)
		return w.todo.n == before
	}
	f := p.flows.Function(entry)
	w.cost, w.byPointer = w.cost+f.Steps(), w.byPointer || f.LeavesByPointer
	if !f.Complete || m.Contains(w.pc) && (f.Contains(inImage(m, w.pc)) || !w.elsewhere(to)) {
		return true
	}
	w.addTails(m, f.Tails)
	return false
}
