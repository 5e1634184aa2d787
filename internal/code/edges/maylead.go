package edges

import (
	"github.com/backsight/backsight/cpu"
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
func (g *Graph) MayLead(m *target.Module, ra uint64, mode cpu.Mode, to *target.Module, pc uint64) unwind.Answer {
	caller, ok := g.in(m, ra, mode)
	callee, is := g.in(to, pc, mode)
	if !ok || !is {
		return unwind.Unknown
	}
	begins := callee.beginnings(callee.at)
	call, ok := caller.callWithin()
	if len(begins) == 0 || !ok {
		return unwind.Unknown
	}
	r, numbers := reads{code: caller.Code}, passing{code: caller.Code}
	if offset, ok := r.slot(call.entry, call.end, call.site); ok {
		held := func() unwind.Answer { return tableSearch{callee.program}.heldAt(begins, offset) }
		if callee.memos.slots.Get(slotKey{begins[0], offset}, held) == unwind.No {
			return unwind.No
		}
	}
	if passed := numbers.noAddresses(call); passed != 0 && passed&addressesTaken(callee.Code, begins[0]) != 0 {
		return unwind.No
	}
	return unwind.Unknown
}

// tableSearch looks for tables of functions in a program.
type tableSearch struct{ *program }

// callWithin is a call and the function that the call is in.
type callWithin struct {
	entry     disasm.Addr
	end, site uint64
}

// callWithin is the call that returns to the place; ok is false where no call does, or nobody knows the function.
func (p place) callWithin() (c callWithin, ok bool) {
	if !p.Img.Segments.Executable(p.at.PC - 1) {
		return c, false
	}
	call, ok := p.callBefore()
	site := inImage(p.m, call.Addr)
	below := p.Entries.Below(disasm.Addr{PC: site, Mode: p.at.Mode})
	if !ok || len(below) == 0 {
		return c, false
	}
	return callWithin{disasm.Addr{PC: below[0], Mode: p.at.Mode}, min(p.Entries.Next(site, site), below[0]+maxCallerSize), site}, true
}

// heldAt is No where every word that holds a function, by its beginnings, is in a table of which no call reads
// at an offset.
func (p tableSearch) heldAt(begins []disasm.Addr, offset uint64) unwind.Answer {
	some := false
	for _, at := range begins {
		if p.Entries.BuiltByCode(at) || p.inInstruction(at) || !p.noneJumpsTo(at) {
			return unwind.Unknown
		}
		may := false
		p.eachPointer(at, func(word uint64) bool {
			if p.isTraced(word) || p.isWithin(".dynsym", word) {
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
	p.eachPointer(disasm.Addr{PC: at}, func(uint64) bool {
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

// passing follows numbers through a function, from one instruction to the next: where registers got them.
type passing struct {
	code    disasm.Code
	numbers [cpu.MaxRegs]uint64 // 0: the register holds something else
	targets []uint64            // of the function's branches
}

// noAddresses are the registers that hold no address of data at a call.
func (p *passing) noAddresses(c callWithin) (set cpu.RegSet) {
	at := p.numbers
	called, slot := cpu.RegSet(0), false // called: the register that the call goes through
	disasm.Each(p.code, c.entry, c.end, func(to disasm.Addr, in *cpu.Insn) bool {
		if to.PC == c.site && in.Op == cpu.OpCall {
			at, called, slot = p.numbers, cpu.SetOf(callsBy(p.code, in)), in.Flags&cpu.FlagDelaySlot != 0
		}
		p.step(to.PC, in)
		if slot && to.PC > c.site {
			at, slot = p.numbers, false
		}
		return true
	})
	for r := range at {
		from := at[r]
		for _, to := range p.targets { // another way may come in between
			if to > from && to <= c.site {
				from = 0
			}
		}
		if from != 0 {
			set = set.With(cpu.Reg(r))
		}
	}
	return set | called&^p.code.Arch.SelfRegs
}

// step goes on behind an instruction.
func (p *passing) step(pc uint64, in *cpu.Insn) {
	switch in.Op {
	case cpu.OpNop, cpu.OpTrap:
		return
	case cpu.OpJump:
		if in.Target != 0 {
			p.targets = append(p.targets, in.Target)
		}
		return
	case cpu.OpMove:
		if in.Src < cpu.MaxRegs && in.Dst < cpu.MaxRegs && in.Flags&cpu.FlagWord32 == 0 {
			p.numbers[in.Dst] = p.numbers[in.Src]
			return
		}
	case cpu.OpCall:
		p.set(p.code.CallerSaved(), 0)
		return
	}
	p.set(in.List.With(in.Dst).With(in.Dst2), 0)
	if in.WB != 0 {
		p.set(cpu.SetOf(in.Base), 0)
	}
	if p.isNumber(in) {
		p.set(cpu.SetOf(in.Dst), pc)
	}
}

// set notes where registers got numbers.
func (p *passing) set(regs cpu.RegSet, from uint64) {
	for ; regs != 0; regs = regs.Without(regs.First()) {
		p.numbers[regs.First()] = from
	}
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
	var holds [cpu.MaxRegs]cpu.RegSet // the argument
	for set := code.CallerSaved().Without(code.Arch.LR).Without(code.Arch.SP); set != 0; set = set.Without(set.First()) {
		holds[set.First()] = cpu.SetOf(set.First())
	}
	lose := func(set cpu.RegSet) {
		for ; set != 0; set = set.Without(set.First()) {
			holds[set.First()] = 0
		}
	}
	left := maxTaking
	disasm.Each(code, entry, ^uint64(0), func(_ disasm.Addr, in *cpu.Insn) bool {
		if left--; left < 0 || in.Op == cpu.OpReturn || in.Op == cpu.OpUnknown || in.Op == cpu.OpJump && in.Flags&cpu.FlagConditional == 0 {
			return false
		}
		if in.Op == cpu.OpLoad || in.Op == cpu.OpStore {
			if in.Base < cpu.MaxRegs && in.Index == cpu.NoReg && in.Imm >= 0 && in.Imm < maxSlot {
				taken |= holds[in.Base]
			}
		}
		switch in.Op {
		case cpu.OpMove:
			held := cpu.RegSet(0)
			if in.Src < cpu.MaxRegs {
				held = holds[in.Src]
			}
			if in.Dst < cpu.MaxRegs {
				holds[in.Dst] = held
			}
		case cpu.OpCall:
			lose(code.CallerSaved())
		case cpu.OpNop, cpu.OpStore, cpu.OpTrap, cpu.OpJump:
		default:
			lose(in.List.With(in.Dst).With(in.Dst2))
		}
		if in.WB != 0 {
			lose(cpu.SetOf(in.Base))
		}
		return true
	})
	return taken
}
