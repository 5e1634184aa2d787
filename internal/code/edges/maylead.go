package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// A call through a table of functions reads its target at an offset from the table's beginning, and a table of
// constants holds a function at an offset from where code or data say that the table begins.
//
//	vfs_write        ldr x1, [x0, #40]; ldr x3, [x1, #24]; blr x3      file->f_op->write
//	proc_reg_write   ldr x1, [x1, #40]; ldr x3, [x1, #32]; blr x3      pde->proc_ops->proc_write
//	crashy_init      hands on pops; the word at pops+32 is crashy_write
//
// vfs_write would have to be handed pops+8, which nothing builds or holds: it does not call crashy_write.

// MayLead implements stackwalk.CallGraph.
func (g *Graph) MayLead(m *target.Module, ra uint64, mode cpu.Mode, to *target.Module, pc uint64) stackwalk.Answer {
	caller, ok := g.in(m, ra, mode)
	callee, is := g.in(to, pc, mode)
	if !ok || !is {
		return stackwalk.Unknown
	}
	begins := callee.beginnings(callee.at)
	call, ok := caller.callWithin()
	if len(begins) == 0 || !ok {
		return stackwalk.Unknown
	}
	r, numbers := newReads(caller.Code), passing{registers[uint64]{code: caller.Code}}
	if offset, ok := r.slot(call); ok {
		held := func() stackwalk.Answer { return tableSearch{callee.program}.heldAt(begins, offset) }
		if callee.memos.slots.Get(slotKey{begins[0], offset}, held) == stackwalk.No {
			return stackwalk.No
		}
	}
	if passed := numbers.noAddresses(call); passed != 0 && passed&addressesTaken(callee.Code, begins[0]) != 0 {
		return stackwalk.No
	}
	return stackwalk.Unknown
}

// tableSearch looks for tables of functions in a program.
type tableSearch struct{ *program }

// heldAt is No where every word that holds a function, by its beginnings, is in a table of which no call reads
// at an offset.
func (p tableSearch) heldAt(begins []disasm.Addr, offset uint64) stackwalk.Answer {
	some := false
	for _, at := range begins {
		if p.Entries.BuiltByCode(at) || p.words().inInstruction(at) || !p.noneJumpsTo(at) {
			return stackwalk.Unknown
		}
		may := false
		p.words().eachPointer(at, func(word uint64) bool {
			if p.words().isTraced(word) || p.words().isWithin(".dynsym", word) {
				return true
			}
			some = true
			may = !p.beginsBefore(word, word-offset)
			return !may
		})
		if may {
			return stackwalk.Unknown
		}
	}
	if !some || !p.Entries.HoldsPointers() {
		return stackwalk.Unknown
	}
	return stackwalk.No
}

// noneJumpsTo tells whether no other function ends in a jump to an entry.
func (p tableSearch) noneJumpsTo(entry disasm.Addr) bool {
	near := p.Entries.FarJumpsBelow(entry.PC)
	return len(near) == 0 || near[0].Target != entry.PC
}

// beginsBefore tells whether the table that has the function at word begins in front of at, and no other table begins
// at at or behind. A table that begins close in front may be the first of a list of tables, the second of which begins at at.
func (p tableSearch) beginsBefore(word, at uint64) bool {
	table, _, ok := p.tableOf(word)
	return ok && table+(word-at)+uint64(p.Arch.AddrSize) > at && table < at && !p.isHeld(at)
}

// tableOf is where the table of a word begins, at the nearest address in front that code builds, and which functions build
// that: none where not all code was looked through, so that the word itself may be built.
func (p *program) tableOf(word uint64) (table uint64, builders []discover.Mention, ok bool) {
	for at := word; at+maxSlot > word; at -= uint64(p.Arch.AddrSize) {
		if list, all := discover.MentionsOf(p.Entries, disasm.Addr{PC: at}, maxCallers); len(list) > 0 || !all {
			return at, list, true
		}
	}
	return 0, nil, false
}

// isHeld tells whether a word of data is an address.
func (p tableSearch) isHeld(at uint64) (held bool) {
	p.words().eachPointer(disasm.Addr{PC: at}, func(uint64) bool {
		held = true
		return false
	})
	return held
}

// What a call passes may tell that it did not lead to a function. Of the interrupt of a timer on AArch64, one line of
// Linux's chain is lost:
//
//	hrtimer_interrupt         str x2, [x0, #24]           takes an address
//	arch_timer_handler_virt   (lost)
//	handle_percpu_devid_irq   mov w0, w21; blr x2         passes a number of 32 bits
//
// or the next:
//
//	arch_timer_handler_virt   ldr x2, [x1]                takes an address
//	handle_percpu_devid_irq   (lost)
//	handle_irq_desc           ldr x1, [x0, #160]; blr x1  passes nothing there but the address of what it calls

// passing follows numbers: which instruction put one into a register, 0 where the register holds something else.
type passing struct{ registers[uint64] }

// noAddresses are the registers that hold no address of data at a call.
func (p *passing) noAddresses(c callWithin) (set cpu.RegSet) {
	at := p.at
	called, slot := cpu.RegSet(0), false // called: the register that the call goes through
	disasm.Each(p.code, c.entry, c.end, func(to disasm.Addr, in *cpu.Insn) bool {
		if to.PC == c.site && in.Op == cpu.OpCall {
			at, called, slot = p.at, cpu.SetOf(callsBy(p.code, in)), in.Flags&cpu.FlagDelaySlot != 0
		}
		p.follow(to.PC, in)
		if slot && to.PC > c.site {
			at, slot = p.at, false
		}
		return true
	})
	for r := range at {
		if from := at[r]; from != 0 && !p.joined(from, c.site) {
			set = set.With(cpu.Reg(r))
		}
	}
	return set | called&^p.code.Arch.SelfRegs
}

// follow goes on behind an instruction.
func (p *passing) follow(pc uint64, in *cpu.Insn) {
	made := uint64(0)
	switch {
	case p.isNumber(in):
		made = pc
	case in.Op == cpu.OpMove && in.Flags&cpu.FlagWord32 == 0:
		made = p.of(in.Src)
	}
	p.step(in, made)
}

// isNumber tells whether an instruction makes a number narrower than an address, which no constant is. Sums of 32 bits
// are addresses where they are sign-extended: of kernels for MIPS in the uppermost 2 GB.
func (p *passing) isNumber(in *cpu.Insn) bool {
	size := p.code.Arch.AddrSize
	switch {
	case size != 8 || in.Dst >= cpu.MaxRegs || in.Flags&cpu.FlagConditional != 0:
		return false
	case in.Op == cpu.OpLoad:
		return in.Size != 0 && int(in.Size) < size && in.Dst2 == cpu.NoReg
	case in.Op == cpu.OpMove:
		return in.Flags&cpu.FlagWord32 != 0 && in.Src != p.code.Arch.Zero
	}
	return false
}

// maxTaking bounds the instructions of a function that are looked at for what they do with arguments.
const maxTaking = 128

// addressesTaken are the registers in which a function is passed addresses: through which it reads or writes memory
// at a small offset, before anything else was put there, on the way from its entry.
func addressesTaken(code disasm.Code, entry disasm.Addr) (taken cpu.RegSet) {
	holds := registers[cpu.RegSet]{code: code} // the argument
	for set := code.CallerSaved().Without(code.Arch.LR).Without(code.Arch.SP); set != 0; set = set.Without(set.First()) {
		holds.at[set.First()] = cpu.SetOf(set.First())
	}
	left := maxTaking
	disasm.Each(code, entry, ^uint64(0), func(_ disasm.Addr, in *cpu.Insn) bool {
		if left--; left < 0 || in.Op == cpu.OpReturn || in.Op == cpu.OpUnknown || in.Op == cpu.OpJump && in.Flags&cpu.FlagConditional == 0 {
			return false
		}
		if (in.Op == cpu.OpLoad || in.Op == cpu.OpStore) && in.Index == cpu.NoReg && in.Imm >= 0 && in.Imm < maxSlot {
			taken |= holds.of(in.Base)
		}
		held := cpu.RegSet(0)
		if in.Op == cpu.OpMove {
			held = holds.of(in.Src)
		}
		holds.step(in, held)
		return true
	})
	return taken
}
