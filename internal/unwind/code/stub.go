package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// noReturnByName tells whether the function at a place is known by name as one
// that never returns: its own, or that of the import that it is the PLT stub of.
func (an *analysis) noReturnByName(to jump) bool {
	if s, ok := an.img.SymbolAt(to.to); ok && s.Addr == to.to && neverReturns(s.Name, true) {
		return true
	}
	if an.importNeverReturns(to.to) { // a lazy binding stub of MIPS
		return true
	}
	var st state
	st.reset(an.arch)
	m := machine{img: an.img, arch: an.arch}
	slot, ok := m.stubSlot(&st, to)
	return ok && an.importNeverReturns(slot)
}

// importNeverReturns tells whether what the dynamic linker stores at an image
// address is a function that never returns.
func (an *analysis) importNeverReturns(slot uint64) bool {
	name, ok := an.img.Import(slot)
	return ok && neverReturns(name, false)
}

// neverReturns tells whether a call never returns: by the function that it goes
// to, or by the import that it reads its target from.
func (m *machine) neverReturns(an *analysis, st *state, in *cpu.Insn, target jump, known bool) bool {
	if known && an.neverReturns(target) {
		return true
	}
	slot, ok := m.callSlot(st, in, target)
	return ok && an.importNeverReturns(slot)
}

// readsNoReturn tells whether a call reads its target from an absolute address
// where the dynamic linker stores a function that never returns.
func (an *analysis) readsNoReturn(in *cpu.Insn) bool {
	absolute := in.Flags&cpu.FlagMemory != 0 && in.Base == cpu.NoReg && in.Index == cpu.NoReg
	return absolute && an.importNeverReturns(uint64(in.Imm)&an.arch.AddrMask())
}

// callSlot is the image address of the word that a call reads its target from:
// call *abort@GOTPCREL(%rip). A PLT stub of i386's position-independent code needs
// what its caller has in ebx: jmp *12(%ebx).
func (m *machine) callSlot(st *state, in *cpu.Insn, target jump) (uint64, bool) {
	switch {
	case in.Flags&cpu.FlagMemory != 0:
		at := m.operand(st, in)
		return uint64(at.off) & m.arch.AddrMask(), at.kind == konst
	case in.Src == cpu.NoReg && m.arch.LR == cpu.NoReg && m.arch.AddrSize == 4:
		var callee state
		callee.copyFrom(st)
		return m.stubSlot(&callee, target)
	}
	return 0, false
}

// stubLen is how many instructions a PLT stub has at most, its jump and what
// stands in a delay slot included (RISC-V and AArch64 have four, bti one more).
const stubLen = 6

// stubSlot is the image address of the word that the PLT stub at a place jumps
// through; st holds there, and changes. A stub computes an address and jumps: one
// instruction on x86, adrp, ldr, add, br on AArch64, add, add, ldr pc on ARM.
func (m *machine) stubSlot(st *state, at jump) (uint64, bool) {
	var buf [stubLen]cpu.Insn
	n := m.arch.Decoder.Decode(m.img.Code(at.to), at.to, at.mode, buf[:])
	if n = m.stubEnd(buf[:n]); n == 0 {
		return 0, false
	}
	slot, loaded, pc := uint64(0), cpu.NoReg, at.to
	for i := range n {
		in := &buf[i]
		if in.Op == cpu.OpLoad || in.Flags&cpu.FlagMemory != 0 {
			slot, loaded = 0, in.Dst
			if a := m.operand(st, in); a.kind == konst {
				slot = uint64(a.off) & m.arch.AddrMask()
			}
		}
		if i < n-1 {
			m.exec(st, in, pc)
			pc += uint64(in.Len)
		}
	}
	last := &buf[n-1]
	through := last.Op == cpu.OpLoad || last.Flags&cpu.FlagMemory != 0 || last.Src == loaded
	return slot, through && slot != 0
}

// stubEnd is how many instructions lead to the indirect jump that ends a stub,
// that one included; 0 where something comes first that no stub does.
func (m *machine) stubEnd(insns []cpu.Insn) int {
	for i := range insns {
		in := &insns[i]
		if in.Flags&(cpu.FlagConditional|cpu.FlagTable) != 0 || in.Dst == m.arch.SP {
			return 0
		}
		switch in.Op {
		case cpu.OpJump:
			if in.Src == cpu.NoReg && in.Flags&cpu.FlagMemory == 0 {
				return 0
			}
			return i + 1
		case cpu.OpLoad:
			if in.Dst == m.arch.PC {
				return i + 1
			}
		case cpu.OpNop, cpu.OpConst, cpu.OpInsert, cpu.OpMove, cpu.OpAdd, cpu.OpAddImm:
		default:
			return 0
		}
	}
	return 0
}

// retpoline tells whether a call of the code at a place is a jump: it overwrites its
// return address (mov %rax,(%rsp); ret) or drops it (lea 8(%rsp),%rsp; ret). So
// jump and return the thunks of -mindirect-branch and -mfunction-return.
func retpoline(img *image.Image, at jump) bool {
	arch := img.Arch
	if arch.LR != cpu.NoReg {
		return false
	}
	var buf [2]cpu.Insn
	n := arch.Decoder.Decode(img.Code(at.to), at.to, at.mode, buf[:])
	first := &buf[0]
	writes := first.Op == cpu.OpStore && first.Base == arch.SP && first.Index == cpu.NoReg && first.Imm == 0 && first.WB == 0
	drops := first.Op == cpu.OpAddImm && first.Dst == arch.SP && first.Src == arch.SP && first.Imm == int64(arch.RegSize)
	return n == 2 && (writes || drops) && buf[1].Op == cpu.OpReturn
}
