package mips

import "github.com/backsight/backsight/cpu"

// coprocessorDecoder decodes the opcodes of the coprocessors in the standard encoding.
type coprocessorDecoder struct{ *processor }

// cop0 decodes opcode 0x10: the system coprocessor.
func (d coprocessorDecoder) cop0(w word, i *cpu.Insn) {
	switch rs := w.rs(); {
	case rs >= 0x10:
		d.cop0Function(w, i)
	case rs <= 1 && w&0xffff == exceptionPC && w.rt() != Zero: // mfc0, dmfc0 rt, epc
		i.Op, i.Dst, i.Src = cpu.OpMove, w.rt(), PC
	case (rs == 4 || rs == 5) && w&0xffff == exceptionPC: // mtc0, dmtc0 rt, epc
		i.Op, i.Dst, i.Src = cpu.OpMove, PC, w.rt()
	case rs <= 2, // mfc0, dmfc0, mfhc0
		rs == 0x0b: // di, ei, dvpe, evpe, dmt, emt, dvp, evp
		clobber(i, w.rt())
	case rs == 3: // mfgc0, dmfgc0, mfhgc0; with bit 9 the moves to
		if w&0x200 == 0 {
			clobber(i, w.rt())
		}
	case rs == 8, rs == 0x0a: // mftr, rdpgpr
		clobber(i, w.rd())
	}
}

// exceptionPC is the register operand of moves from and to EPC: CP0 register 14, select 0
// (MD00090, "Exception Program Counter").
const exceptionPC = 14 << 11

// cop0Function decodes eret and deret; wait and the TLB's instructions have no
// effect.
func (d coprocessorDecoder) cop0Function(w word, i *cpu.Insn) {
	switch {
	case w&^0x40 == 0x4200_0018, w == 0x4200_001f: // eret, eretnc; deret
		i.Op, i.Src, i.Flags = cpu.OpReturn, PC, cpu.FlagException
	case w.fn() == 0x28: // hypcall
		d.syscall(i, int64(w>>11&0x3ff))
	}
}

// cop1 decodes opcode 0x11: the floating-point unit's moves and branches, and
// the branches of the MSA ASE.
func (d coprocessorDecoder) cop1(w word, pc uint64, i *cpu.Insn) {
	switch rs := w.rs(); {
	case rs <= 3: // mfc1, dmfc1, cfc1, mfhc1
		clobber(i, w.rt())
	case rs == 8:
		d.coprocessorBranch(w, pc, i)
	case rs == 9, rs == 0x0a, rs == 0x0d, // bc1any2, bc1any4, bc1eqz, bc1nez
		rs == 0x0b, rs == 0x0f, rs >= 0x18: // bz.v, bnz.v, bz.b … bnz.d
		d.branch(i, cpu.NoReg, cpu.NoReg, w.branch16(pc), slot)
	}
}

// cop2 decodes opcode 0x12. Release 6 moved the loads and stores here.
func (d coprocessorDecoder) cop2(w word, pc uint64, i *cpu.Insn) {
	switch rs := w.rs(); rs {
	case 0, 1, 2, 3: // mfc2, dmfc2, cfc2, mfhc2
		clobber(i, w.rt())
	case 8:
		d.coprocessorBranch(w, pc, i)
	case 9, 0x0d: // bc2eqz, bc2nez
		if d.r6 {
			d.branch(i, cpu.NoReg, cpu.NoReg, w.branch16(pc), slot)
		}
	case 0x0b, 0x0f: // swc2, sdc2
		if d.r6 {
			store(i, cpu.NoReg, w.rd(), signed(uint32(w), 11), uint8(rs)-7)
		}
	}
}

// coprocessorBranch is bc1f, bc1t, bc2f, bc2t and their likely forms.
func (d coprocessorDecoder) coprocessorBranch(w word, pc uint64, i *cpu.Insn) {
	flags := slot
	if w.rt()&2 != 0 {
		flags |= cpu.FlagLikely
	}
	d.branch(i, cpu.NoReg, cpu.NoReg, w.branch16(pc), flags)
}

// cop1x decodes opcode 0x13: of the indexed floating-point loads and stores, the
// stores matter.
func cop1x(w word, i *cpu.Insn) {
	size := uint8(8)
	switch w.fn() {
	case 0x08: // swxc1
		size = 4
	case 0x09, 0x0d: // sdxc1, suxc1
	default:
		return
	}
	store(i, cpu.NoReg, w.rs(), 0, size)
	i.Index = w.rt()
}

// msa decodes opcode 0x1e: the vector unit writes general registers in copy_s,
// copy_u and cfcmsa (group ELM), and memory in st.b … st.d.
func msa(w word, i *cpu.Insn) {
	switch fn := w.fn(); fn {
	case 0x19:
		group := w >> 22 & 15
		if group == 2 || group == 3 || w>>16&0x3ff == 0x07e {
			clobber(i, cpu.Reg(w.sa()))
		}
	case 0x24, 0x25, 0x26, 0x27:
		scale := fn & 3
		store(i, cpu.NoReg, w.rd(), signed(uint32(w>>16), 10)<<scale, 16)
	}
}
