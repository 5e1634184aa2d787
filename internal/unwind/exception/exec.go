package exception

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// privileged executes an instruction of the processor's exception handling: RISC-V's accesses to
// control and status registers, ARM's to banked registers, and on ARM what happens on a condition.
// It reports false for all other instructions. code begins with the instruction.
func (x *explorer) privileged(st *entryState, in *cpu.Insn, code []byte) bool {
	arch := x.module.Image.Arch
	if len(code) >= 4 && in.Len == 4 && isRISCV(arch) {
		if c, ok := csrOf(binary.LittleEndian.Uint32(code)); ok {
			st.csr(&c)
			return true
		}
	}
	if !isBanked(arch) {
		return false
	}
	if b, ok := bankingOf(code, x.mode); ok {
		st.banking(&b)
		return true
	}
	if in.Flags&cpu.FlagConditional == 0 || in.Op == cpu.OpJump {
		return false
	}
	st.set(in.Dst, value{})
	st.forget(in.List)
	return true
}

// exec executes an instruction; code begins with the instruction.
func (x *explorer) exec(st *entryState, in *cpu.Insn, code []byte) {
	if x.privileged(st, in, code) {
		return
	}
	arch := x.module.Image.Arch
	addr := st.get(in.Base).plus(in.Imm)
	if in.Base == cpu.NoReg || in.Index != cpu.NoReg {
		addr = value{}
	}
	word := int(in.Size) == arch.RegSize
	switch in.Op {
	case cpu.OpConst:
		v := value{kind: number, off: uint64(in.Imm)}
		if in.Flags&cpu.FlagAddress != 0 {
			v.off = x.module.ToTarget(v.off)
		}
		st.set(in.Dst, v)
	case cpu.OpMove:
		switch {
		case in.Src == arch.PC: // the exception PC
			st.read = true
			st.set(in.Dst, st.regs[epc])
		case in.Dst != arch.PC:
			st.set(in.Dst, st.get(in.Src))
		}
	case cpu.OpAddImm:
		st.set(in.Dst, st.get(in.Src).plus(in.Imm))
	case cpu.OpAdd, cpu.OpSub:
		st.set(in.Dst, st.sum(in))
	case cpu.OpLoad:
		st.set(in.Dst, x.load(st, addr, word))
	case cpu.OpStore:
		if word {
			st.store(addr, st.get(in.Src))
		}
	case cpu.OpStoreMulti:
		for list := in.List; list != 0; list = list.Without(list.First()) {
			st.store(addr, st.get(list.First()))
			addr = addr.plus(int64(in.Size))
		}
	case cpu.OpCall:
		kept := arch.Preserved.With(arch.SP)
		for r := range cpu.Reg(32) {
			if !kept.Has(r) && r != x.globals && r != x.threads {
				st.set(r, value{})
			}
		}
	case cpu.OpJump, cpu.OpReturn, cpu.OpTrap, cpu.OpNop:
	default:
		st.set(in.Dst, value{})
		st.forget(in.List)
	}
	if in.WB != 0 {
		st.set(in.Base, st.get(in.Base).plus(int64(in.WB)))
	}
}

// sum is a register and another one that holds a number, added or subtracted.
func (st *entryState) sum(in *cpu.Insn) value {
	n := st.get(in.Src2)
	switch {
	case n.kind != number || in.Scale != 0:
		return value{}
	case in.Op == cpu.OpSub:
		return st.get(in.Src).plus(-int64(n.off))
	}
	return st.get(in.Src).plus(int64(n.off))
}

// load is a word of the stack that was stored before, or one of memory at an address that the
// code states: kernels keep there the task that runs, and the top of the interrupts' stack.
func (x *explorer) load(st *entryState, addr value, word bool) value {
	if !word || addr.kind == unknown {
		return value{}
	}
	for i := range st.slots {
		if st.slots[i].addr == addr {
			return st.slots[i].val
		}
	}
	if v, ok := x.mem.Word(addr.off); ok && addr.kind == number {
		return value{kind: number, off: v}
	}
	return value{}
}
