package x86

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stepping"
)

// Skip implements stepping.Skipper: instructions are parsed, as for Decode, and what few of them do is told.
func (d *decoder) Skip(code []byte, limit uint, pc uint64, w *stepping.Watch, out *cpu.Insn) (starts uint64, n uint) {
	in := *d.fresh()
	reads, tells := parser{&in}, effectDecoder{shapes{operands{&in}}}
	for limit = min(limit, stepping.SkipSpan); n < limit && n+window <= uint(len(code)); {
		b := (*[window]byte)(code[n : n+window : n+window])
		in.b = b
		e, length := reads.parse(b)
		if !(idleness{arithmetic(tells)}).idle(e, w) {
			*out = noEffect
			out.Len = uint8(length)
			if !tells.tell(e, out, (pc+uint64(n+length))&in.mask) {
				*out = undefinedInsn
			}
			if !w.Idle(out) {
				return starts, n
			}
		}
		starts |= 1 << n
		n += length
	}
	out.Len = 0
	return starts, n
}

// outcome says where the result of an effect is.
type outcome uint8

const (
	uncertain outcome = iota
	nowhere
	inReg       // the operand reg
	inRM        // the operand rm, a register
	inByteRM    // the register of a byte operand
	constRM     // a constant in rm
	constOpcode // one in the register that the opcode names
	inALUReg    // as inReg, in the size that the opcode's lowest bit tells
	inALURM     // as inRM
	inAcc       // unless it is compared
	inGroup1    // as inALURM, unless it is compared
	copied      // in reg, out of rm
	copiedRM    // in rm, out of reg
	inMemory    // at the address of the operand
	loaded      // in reg, out of memory
	addressed   // in reg: an address
)

var outcomes = [256]outcome{
	nothing: nowhere, padding: nowhere,
	clobberReg: inReg, clobberRM: inRM, clobberRM8: inByteRM, zeroExtend: inReg, constToReg: constOpcode, constToRM: constRM,
	arithmeticReg: inALUReg, arithmeticRM: inALURM, arithmeticAcc: inAcc, group1: inGroup1,
	moveToReg: copied, moveIf: copied, moveToRM: copiedRM,
	store: inMemory, storeOther: inMemory, storeByte: inMemory,
	load: loaded, loadIf: loaded, loadZ8: loaded, loadZ16: loaded, loadS8: loaded, loadS16: loaded,
	lea: addressed,
}

// idleness tells idle instructions by their effects and operands.
type idleness struct{ arithmetic }

// idle tells whether an instruction is certainly idle, and loads nothing from an address of its own.
func (in idleness) idle(e effect, w *stepping.Watch) bool {
	var dst cpu.Reg
	switch o := outcomes[e]; o {
	case nowhere:
		return true
	case inReg:
		dst = in.reg()
	case inRM:
		dst = in.rm()
	case inByteRM:
		dst = in.rmOf(1)
	case constRM, constOpcode:
		if w.Constants {
			return false
		}
		if dst = in.rm(); o == constOpcode {
			dst = in.gpr(in.opcodeReg())
		}
	case inALUReg, inALURM:
		if w.Constants && in.reg() == in.rm() { // xor %eax,%eax
			return false
		}
		if dst = in.regOf(in.aluSize()); o == inALURM {
			dst = in.rmOf(in.aluSize())
		}
	case inAcc, inGroup1:
		kind := in.aluKind()
		if dst = in.acc(); o == inGroup1 {
			kind, dst = int(in.group()), in.rmOf(in.aluSize())
		}
		if kind == aluCMP {
			return true
		}
		if w.Constants && (kind == aluAND || kind == aluOR) { // or $-1,%eax
			return false
		}
	case copied:
		return w.IdleCopy(in.rm(), in.reg())
	case copiedRM:
		return w.IdleCopy(in.reg(), in.rm())
	case inMemory, loaded, addressed:
		return in.idleOperand(o, w)
	default:
		return false
	}
	return !w.Held.Has(dst)
}

// idleOperand is idle where memory is the operand, or lea.
func (in idleness) idleOperand(o outcome, w *stepping.Watch) bool {
	base, index := in.address()
	if (base|index)&w.Unused != 0 {
		return false
	}
	switch o {
	case inMemory:
		return base&w.Pointers == 0
	case loaded:
		if base|index == 0 {
			return false
		}
	case addressed:
		if base |= index; in.isReg() || base == 0 && w.Constants {
			return false
		}
	}
	dst := in.reg()
	return !w.Held.Has(dst) && (base&w.Pointers == 0 || !w.Tracked.Has(dst))
}

// address has the registers of the memory operand.
func (in *inst) address() (base, index cpu.RegSet) {
	mod, rm := in.modrm>>6, in.modrm&7
	if rm == 4 {
		sib := in.b[in.modrmAt&maxLen+1]
		if x := sib>>3&7 | in.x; x != noIndex {
			index = 1 << (in.gpr(x) & 63)
		}
		rm = sib & 7
	}
	if mod != 0 || rm != 5 {
		base = 1 << (in.gpr(rm|in.bx) & 63)
	}
	return base, index
}
