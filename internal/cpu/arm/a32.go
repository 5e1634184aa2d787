package arm

import "github.com/backsight/backsight/cpu"

const (
	condAL = 14
	condNV = 15 // in A32, the unconditional space
)

func (d decoder) decodeA32(code []byte, pc uint32, out []cpu.Insn) int {
	n := min(len(out), len(code)/4)
	linked := -1 // the instruction behind a "mov lr,pc" of its condition
	for i := range n {
		at := 4 * i
		w := d.word(code[at : at+4 : at+4])
		if op := w & 0x0fff_ffff; (op == movLRPC || op == addLRPC) && i+1 < n && d.word(code[at+4:])>>28 == w>>28 {
			linked = i + 1
		}
		if f := &formsA32[w>>20&0xff]; f.has(w) {
			f.fill(w, &out[i])
		} else {
			a32(w, pc+uint32(at), &out[i])
		}
		if i == linked {
			linkedJump(&out[i])
		}
	}
	return n
}

// movLRPC is "mov lr,pc" without its condition: the call sequence of ARMv4,
// which has no BLX (register). LR is the address behind the next instruction.
const movLRPC = 0x01a0_e00f

// addLRPC is "add lr,pc,#0", the same: as assemblers write "adr lr,1f" where 1 is the label
// behind the jump. So Linux's ret_from_fork enters a kernel thread's function.
const addLRPC = 0x028f_e000

// linkedJump turns the jump behind "mov lr,pc" into a call.
func linkedJump(o *cpu.Insn) {
	switch {
	case o.Op == cpu.OpLoad && o.Dst == PC && o.WB == 0 && o.Flags&cpu.FlagReturn == 0:
		o.Flags |= cpu.FlagMemory
	case o.Op == cpu.OpJump && o.Flags&cpu.FlagTable != 0:
		// The kernel's helper page: mov r3,#0xffff0fff; mov lr,pc; sub pc,r3,#31.
		o.Src, o.Index, o.Base, o.Scale, o.Target = PC, cpu.NoReg, cpu.NoReg, 0, 0
		o.Flags &^= cpu.FlagTable
	case o.Op == cpu.OpJump:
	default:
		return
	}
	o.Op, o.Dst = cpu.OpCall, LR
}

// blankA32 is what every instruction of A32 starts from.
var blankA32 = cpu.Insn{
	Len: 4,
	Dst: cpu.NoReg, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg,
	Base: cpu.NoReg, Index: cpu.NoReg,
}

// a32 decodes one word (v7 A5.1).
func a32(w, pc uint32, o *cpu.Insn) {
	cond := w >> 28
	*o = blankA32
	if cond == condNV {
		a32Always(w, pc, o)
		return
	}
	switch w >> 24 & 15 {
	case 0x0, 0x1:
		a32Register(w, pc, o)
	case 0x2, 0x3:
		a32Immediate(w, pc, o)
	case 0x4, 0x5:
		off := w & 0xfff
		if !bit(w, 23) {
			off = -off
		}
		access(o, a32Kind(w), field(w, 12), field(w, 16), int32(off), bit(w, 24), bit(w, 21), pc+8)
	case 0x6, 0x7:
		if bit(w, 4) {
			a32Media(w, o)
		} else {
			a32Indexed(w, pc, o)
		}
	case 0x8, 0x9:
		a32Multiple(w, o)
	case 0xa:
		branchIf(o, pc+8+signed(w, 24)<<2, 0, w>>28)
	case 0xb:
		call(o, pc+8+signed(w, 24)<<2, 0)
	case 0xc, 0xd:
		coprocTransfer(w, o, pc+8, false)
	case 0xe:
		coproc(w, o, false)
	case 0xf:
		supervisor(o, w&0xff_ffff)
	}
	o.Flags |= conditional[cond]
}

// conditional is what a condition adds.
var conditional = [16]cpu.Flags{
	cpu.FlagConditional, cpu.FlagConditional, cpu.FlagConditional, cpu.FlagConditional, cpu.FlagConditional,
	cpu.FlagConditional, cpu.FlagConditional, cpu.FlagConditional, cpu.FlagConditional, cpu.FlagConditional,
	cpu.FlagConditional, cpu.FlagConditional, cpu.FlagConditional, cpu.FlagConditional, condAL: 0,
}

// a32Kind reads B and L of a word or byte access.
func a32Kind(w uint32) kind {
	return bitKind(w, 20) | word>>(w>>22&1<<1)&word
}

// a32Indexed is a load or store with a register offset.
func a32Indexed(w, pc uint32, o *cpu.Insn) {
	k, rt, rn := a32Kind(w), field(w, 12), field(w, 16)
	plain := bit(w, 23) && bit(w, 24) && !bit(w, 21) && w>>5&3 == 0
	if !plain {
		accessUntold(o, k, rt, rn, !bit(w, 24) || bit(w, 21))
		return
	}
	accessIndexed(o, k, rt, rn, field(w, 0), uint8(w>>7&31), pc+8)
}

// a32Multiple is LDM and STM. With ^ they transfer the user mode's SP and LR,
// which are other registers, unless the PC is loaded: that is an exception
// return.
func a32Multiple(w uint32, o *cpu.Insn) {
	load := bit(w, 20)
	multiple(o, load, field(w, 16), w&0xffff, bit(w, 24), bit(w, 23), bit(w, 21))
	if !bit(w, 22) {
		return
	}
	if load && o.List.Has(PC) {
		o.Flags |= cpu.FlagReturn | cpu.FlagException
		if !o.List.Has(SP) {
			o.Flags |= cpu.FlagBankedSP
		}
		return
	}
	o.List = o.List.Without(SP).Without(LR)
}

// a32Immediate is v7 A5.2 with op = 1.
func a32Immediate(w, pc uint32, o *cpu.Insn) {
	op, rd := w>>21&15, field(w, 12)
	if compares(op) && !bit(w, 20) {
		switch imm := w>>4&0xf000 | w&0xfff; {
		case op == opTEQ || op == opCMN: // msr and hints
			if w&0x0fff_ffff == 0x0320_f000 {
				o.Flags |= cpu.FlagPadding // nop
			}
		case rd == PC:
			unknown(o)
		case op == opTST:
			constant(o, rd, imm) // movw
		default:
			o.Op, o.Dst, o.Imm, o.Scale = cpu.OpInsert, rd, int64(imm), 16 // movt
		}
		return
	}
	imm := expandA32(w)
	if rd == PC && !compares(op) {
		a32WritePCImm(w, op, imm, pc, o)
		return
	}
	aluImm(o, op, rd, field(w, 16), imm, pc+8)
}

// expandA32 is ARMExpandImm (v7 A5.2.4).
func expandA32(w uint32) uint32 {
	v, by := w&0xff, w>>7&30
	return v>>by | v<<(32-by)
}

// a32WritePCImm is a data-processing instruction with an immediate that writes
// the PC; with S it returns from an exception (subs pc,lr,#4).
func a32WritePCImm(w, op, imm, pc uint32, o *cpu.Insn) {
	rn := field(w, 16)
	if op == opSUB {
		imm = -imm
	}
	switch {
	case bit(w, 20):
		exceptionReturn(o)
	case op == opMOV:
		branch(o, imm&^3, 0)
	case (op == opADD || op == opSUB) && rn == PC:
		branch(o, (pc+8+imm)&^3, 0)
	case op == opADD || op == opSUB:
		jumpSum(o, cpu.NoReg, rn, 0, imm, 0)
	case op == opBIC && rn == LR:
		jumpReg(o, LR) // bic pc,lr,#3 returned in 26-bit days
	default:
		jumpUnknown(o)
	}
}

// a32Register is v7 A5.2 with op = 0: data processing with a register, and what
// the compare opcodes without S and the shift type 1xx1 leave room for.
func a32Register(w, pc uint32, o *cpu.Insn) {
	op := w >> 21 & 15
	switch {
	case w&0x90 == 0x90:
		if w&0x60 == 0 {
			a32Multiply(w, o)
		} else {
			a32Extra(w, pc, o)
		}
		return
	case compares(op) && !bit(w, 20):
		a32Misc(w, pc, o)
		return
	}
	rd, rn, rm, kind, amount := field(w, 12), field(w, 16), field(w, 0), w>>5&3, w>>7&31
	if kind == 0 && amount == 0 && op == opMOV && rd == rm && rm == R0 || w == 0 {
		o.Flags |= cpu.FlagPadding // mov r0,r0 was the nop; the zero word fills
		return
	}
	if bit(w, 4) { // the shift amount is in a register
		kind = 1
	}
	if rd == PC && !compares(op) {
		a32WritePCReg(w, op, kind, amount, pc, o)
		return
	}
	aluReg(o, op, rd, rn, rm, kind, amount, pc+8)
}

// a32WritePCReg is a data-processing instruction with a register that writes
// the PC.
func a32WritePCReg(w, op, kind, amount, pc uint32, o *cpu.Insn) {
	rn, rm := field(w, 16), field(w, 0)
	switch {
	case bit(w, 20):
		exceptionReturn(o)
	case op == opMOV && kind == 0 && amount == 0 && rm == PC:
		branch(o, pc+8, 0)
	case op == opMOV && kind == 0 && amount == 0:
		jumpReg(o, rm)
	case op == opADD && kind == 0 && amount == 0 && rm == PC && rn != PC: // a veneer of GNU's linkers: ldr ip,[pc]; add pc,ip,pc
		jumpReg(o, rn)
		o.Imm = int64(pc + 8)
	case op != opADD || kind != 0 || rm == PC:
		jumpUnknown(o)
	case rn == PC:
		jumpSum(o, cpu.NoReg, rm, uint8(amount), pc+8, 0)
	default:
		jumpSum(o, rn, rm, uint8(amount), 0, 0)
	}
}
