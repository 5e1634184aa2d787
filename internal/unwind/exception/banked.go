package exception

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// A Cortex-R or Cortex-A takes an exception into a mode that has a stack pointer and a link
// register of its own; where the interrupted code goes on is in that link register, its status
// in SPSR (DDI 0406, B1.8). An entry that lets handlers call and be interrupted puts both on
// the stack of another mode, with SRS, and goes on there:
//
//	sub   lr,lr,#4
//	srsdb sp!,#31         PC and CPSR of the interrupted code, on System mode's stack
//	cps   #31             sp and lr are System mode's from here on
//	push  {r0-r3,r12}
//	and   r1,sp,#4
//	sub   sp,sp,r1
//	push  {r1,lr}
//	bl    handler
//
// Where the interrupted code ran in that mode, its SP is known. Where not, or where an entry
// stays in the exception's mode, that SP is in no memory: package internal/unwind/code finds
// the PC by the ways out, and the walk ends there.

// isBanked tells whether a processor has the modes of ARM's profiles A and R, and fetches
// code little-endian.
func isBanked(arch *cpu.Arch) bool {
	return arch.Name == "arm" && !arch.ModeOnly && (!arch.BigEndian || arch.ABI == "be8")
}

// banking is an instruction that works with banked registers: SRS, which stores, or CPS, or MSR
// to the mode bits.
type banking struct {
	mode   uint32
	stores bool
	below  bool // SRSDB: the two words lie below SP
	writes bool // SP is written back
}

// bankingOf decodes SRS, CPS with a mode, and MSR (DDI 0406, B9.3.2, B9.3.16, B9.3.11).
func bankingOf(code []byte, isa cpu.Mode) (b banking, ok bool) {
	if len(code) < 4 {
		return b, false
	}
	w := binary.LittleEndian.Uint32(code)
	b.mode = w & 31
	if isa != 0 {
		w = w<<16 | w>>16
		b.mode, b.writes = w&31, w>>21&1 != 0
		switch {
		case w&0xffdf_ffe0 == 0xe80d_c000:
			b.stores, b.below = true, true
		case w&0xffdf_ffe0 == 0xe98d_c000:
			b.stores = true
		default:
			return b, w&0xffff_f900 == 0xf3af_8100
		}
		return b, true
	}
	if w&0xfe5f_ffe0 == 0xf84d_0500 { // of the four addressing modes those that Thumb has too
		b.stores, b.below, b.writes = true, w>>24&1 != 0, w>>21&1 != 0
		return b, w>>23&1 != w>>24&1
	}
	return b, w&0xfff3_fe20 == 0xf102_0000 || w&0xffff_ff00 == 0xe321_f000 // cps; msr cpsr_c,#mode
}

// bank is the state when an exception has come: sp and lr are those of the exception's mode,
// of which nothing is known but where the interrupted code goes on.
func (st *entryState) bank() {
	st.saved = startOf(armSP)
	st.regs[armSP], st.regs[armLR] = value{}, value{}
}

// The numbers of sp and lr.
const armSP, armLR cpu.Reg = 13, 14

// banking does what SRS and CPS do.
func (st *entryState) banking(b *banking) {
	if !b.stores {
		if st.mode != b.mode {
			st.mode = b.mode
			st.regs[armSP], st.regs[armLR] = st.saved, startOf(armLR)
		}
		return
	}
	at, step := st.saved, int64(8)
	if b.below {
		at, step = at.plus(-8), -8
	}
	st.store(at, startOf(epc))
	st.store(at.plus(4), startOf(scratch))
	if st.read = true; b.writes {
		st.saved = st.saved.plus(step)
	}
}

// aligns makes two states of one where an instruction rounds the stack pointer, or takes what
// is to be rounded: the words that are stored then tell which one it was. The stack pointer is
// a multiple of 4.
func (x *explorer) aligns(st *entryState, in *cpu.Insn) (other *entryState) {
	if !isBanked(x.module.Image.Arch) || in.Op != cpu.OpAndImm || in.Flags&cpu.FlagConditional != 0 || in.Src != armSP {
		return nil
	}
	switch other = st.clone(); {
	case in.Imm == 4:
		st.set(in.Dst, value{kind: number})
		other.set(in.Dst, value{kind: number, off: 4})
	case uint32(in.Imm) == ^uint32(7):
		st.set(in.Dst, st.get(armSP))
		other.set(in.Dst, st.get(armSP).plus(-4))
	default:
		return nil
	}
	return other
}

// unbank completes the registers of the interrupted code by its CPSR; false where that ran in
// another mode than the one whose stack pointer is known. Bit 5 is T.
func (st *entryState) unbank(arch *cpu.Arch, so *solution, regs *cpu.Registers) bool {
	status := so.val[scratch]
	if !so.known[scratch] || bankOf(uint32(status)) != bankOf(st.mode) {
		return false
	}
	regs.Set(arch.Status, status)
	if status>>arch.StatusModeBit&1 != 0 {
		regs.Set(arch.PC, so.val[epc]|1)
	}
	return true
}

// bankOf is the mode of a CPSR as far as banks of sp and lr go: User mode has System mode's.
func bankOf(cpsr uint32) uint32 {
	const user, system = 0x10, 0x1f
	if mode := cpsr & 31; mode != user {
		return mode
	}
	return system
}
