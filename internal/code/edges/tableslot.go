package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// A call through a table of functions reads its target at an offset from the table's beginning, and a table of
// constants holds a function at an offset from where code or data say that the table begins.
//
//	vfs_write        ldr x1, [x0, #40]; ldr x3, [x1, #24]; blr x3      file->f_op->write
//	proc_reg_write   ldr x1, [x1, #40]; ldr x3, [x1, #32]; blr x3      pde->proc_ops->proc_write
//	crashy_init      hands on pops; the word at pops+32 is crashy_write
//
// vfs_write would have to be handed pops+8, which nothing builds or holds: it does not call crashy_write.

// maxSlot bounds the offsets of functions in tables.
const maxSlot = 1 << 9

// MayLead implements unwind.CallGraph.
func (s *Graph) MayLead(m *target.Module, ra uint64, mode cpu.Mode, to *target.Module, pc uint64) unwind.Answer {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil || to == nil || to.Image == nil || to.Image.Arch.Decoder == nil {
		return unwind.Unknown
	}
	p, callee := s.of(m.Image), s.of(to.Image)
	begins := callee.beginnings(disasm.Addr{PC: inImage(to, pc), Mode: mode})
	if len(begins) == 0 {
		return unwind.Unknown
	}
	if readsAtSlotOf(p, m, ra, mode, callee, begins) == unwind.No || !passesAddresses(p, m, ra, mode, callee, begins[0]) {
		return unwind.No
	}
	return unwind.Unknown
}

// readsAtSlotOf tells whether the call in m that returns to ra may have read its target from a table of functions that
// has the function with these beginnings: No where all tables hold that at other offsets than the call reads at.
func readsAtSlotOf(caller *program, m *target.Module, ra uint64, mode cpu.Mode, callee *program, begins []disasm.Addr) unwind.Answer {
	offset, ok := tableSearch{caller}.slotOf(m, ra, mode)
	if !ok {
		return unwind.Unknown
	}
	p := tableSearch{callee}
	return p.memos.slots.Get(slotKey{begins[0], offset}, func() unwind.Answer { return p.heldAt(begins, offset) })
}

// tableSearch looks for tables of functions in a program.
type tableSearch struct{ *program }

// slotKey is the question whether a table holds a function at an offset.
type slotKey struct {
	function disasm.Addr
	offset   uint64
}

// slotOf is the offset at which the call in m that returns to ra reads its target from where a pointer points to
// that was read itself, or handed to the function; ok is false where the code does not say so.
func (p tableSearch) slotOf(m *target.Module, ra uint64, mode cpu.Mode) (offset uint64, ok bool) {
	c, ok := findCall(p.program, m, ra, mode)
	if !ok {
		return 0, false
	}
	r := reads{code: p.Code}
	return r.slot(c.entry, c.end, c.site)
}

// callWithin is a call and the function that the call is in.
type callWithin struct {
	entry     disasm.Addr
	end, site uint64
}

// findCall finds the call in m that returns to ra; ok is false where there is none, or nobody knows the function.
func findCall(p *program, m *target.Module, ra uint64, mode cpu.Mode) (c callWithin, ok bool) {
	at := inImage(m, ra)
	text, ok := p.Img.Segments.At(at - 1)
	if !ok || !text.Exec {
		return c, false
	}
	call, ok := callsite.InSegment(m, text, at, mode)
	site := inImage(m, call.Addr)
	below := p.Entries.Below(disasm.Addr{PC: site, Mode: mode})
	if !ok || len(below) == 0 {
		return c, false
	}
	return callWithin{disasm.Addr{PC: below[0], Mode: mode}, min(p.Entries.Next(site, site), below[0]+maxCallerSize), site}, true
}

// heldAt is No where every word that holds a function, by its beginnings, is in a table of which no call reads
// at an offset.
func (p tableSearch) heldAt(begins []disasm.Addr, offset uint64) unwind.Answer {
	some := false
	for _, at := range begins {
		if p.Entries.BuiltByCode(at) || inInstruction(p.program, at) || !p.noneJumpsTo(at) {
			return unwind.Unknown
		}
		may := false
		eachPointer(p.program, at, func(word uint64) bool {
			if isTraced(p.Img, word) || listsAll(p.Img, word) {
				return true
			}
			some = true
			may = !p.beginsBefore(word, word-offset)
			return !may
		})
		if may {
			return unwind.Unknown
		}
	}
	if !some || !p.Entries.HoldsPointers() {
		return unwind.Unknown
	}
	return unwind.No
}

// noneJumpsTo tells whether no other function ends in a jump to an entry.
func (p tableSearch) noneJumpsTo(entry disasm.Addr) bool {
	near := p.Entries.FarJumpsBelow(entry.PC)
	return len(near) == 0 || near[0].Target != entry.PC
}

// beginsBefore tells whether the table of the function at word begins in front of at, and no other at at or behind:
// by less than an entry of a list of such tables would need, whose second may begin at at.
func (p tableSearch) beginsBefore(word, at uint64) bool {
	size := uint64(p.Arch.AddrSize)
	for s := word; s+maxSlot > word && s+(word-at)+size > at; s -= size {
		if !p.isNamed(s) {
			continue
		}
		return s < at && !p.isHeld(at)
	}
	return false
}

// isNamed tells whether instructions may build an address, isHeld whether a word of data is the address.
func (p tableSearch) isNamed(at uint64) bool {
	list, all := discover.MentionsOf(p.Entries, disasm.Addr{PC: at}, maxCallers)
	return len(list) > 0 || !all
}

func (p tableSearch) isHeld(at uint64) (held bool) {
	eachPointer(p.program, disasm.Addr{PC: at}, func(uint64) bool {
		held = true
		return false
	})
	return held
}
