package arm64

import (
	"math/bits"

	"github.com/backsight/backsight/cpu"
)

// address is adr, and adrp with bit 31.
func address(w uint32, pc uint64, in *cpu.Insn) {
	imm := sext(w>>5&0x7ffff<<2|w>>29&3, 21)
	if bit(w, 31) {
		pc &^= 0xfff
		imm <<= 12
	}
	constant(in, regZ(w, 0), int64(pc)+imm)
	if in.Op == cpu.OpConst {
		in.Flags = cpu.FlagAddress
	}
}

// addSubImmediate is add, sub and with S adds, subs, whose forms without a
// result are cmn and cmp. Adding 0 is how sp is moved from and to a register.
func addSubImmediate(w uint32, in *cpu.Insn) {
	if bit(w, 23) {
		tagOrMinMax(w, in)
		return
	}
	imm := int64(w>>10&0xfff) << (w >> 22 & 1 * 12)
	if bit(w, 30) {
		imm = -imm
	}
	rd, rn := regS(w, 0), regS(w, 5)
	word32(w, in)
	switch {
	case bit(w, 29) && rd == SP:
		in.Op, in.Src, in.Imm = cpu.OpCompareImm, rn, -imm
	case imm == 0:
		in.Op, in.Dst, in.Src = cpu.OpMove, rd, rn
	default:
		in.Op, in.Dst, in.Src, in.Imm = cpu.OpAddImm, rd, rn, imm
	}
}

// tagOrMinMax is addg, subg (MTE: pointers with another tag), and the smax,
// umin, … of CSSC.
func tagOrMinMax(w uint32, in *cpu.Insn) {
	if bit(w, 22) {
		clobber(in, regZ(w, 0))
		return
	}
	clobber(in, regS(w, 0))
}

// logicalOrWide is told by bit 23.
func logicalOrWide(w uint32, in *cpu.Insn) {
	if bit(w, 23) {
		moveWide(w, in)
		return
	}
	logicalImmediate(w, in)
}

// logicalImmediate is and, orr, eor, whose result may be sp, and ands.
func logicalImmediate(w uint32, in *cpu.Insn) {
	rd, rn := regS(w, 0), regZ(w, 5)
	mask, ok := bitMask(w>>22&1, w>>10&63, w>>16&63)
	if !bit(w, 31) {
		mask &= 0xffff_ffff
		ok = ok && !bit(w, 22)
	}
	if !ok {
		unknown(in, cpu.NoReg)
		return
	}
	opc := w >> 29 & 3
	switch {
	case opc == 3: // ands, tst
		unary(in, cpu.OpAndImm, regZ(w, 0), rn, int64(mask))
	case opc == 0:
		unary(in, cpu.OpAndImm, rd, rn, int64(mask))
	case rn == cpu.NoReg: // mov rd, #mask
		constant(in, rd, int64(mask))
		return
	case opc == 1:
		unary(in, cpu.OpOrImm, rd, rn, int64(mask))
	default:
		clobber(in, rd)
		return
	}
	if in.Op == cpu.OpAndImm && rn == cpu.NoReg {
		constant(in, in.Dst, 0)
		in.Src = cpu.NoReg
		return
	}
	if in.Op != cpu.OpNop {
		word32(w, in)
	}
}

// bitMask is the pseudocode function DecodeBitMasks: a run of imms+1 ones,
// rotated right by immr within an element of 2..64 bits that fills the register.
func bitMask(n, imms, immr uint32) (uint64, bool) {
	length := bits.Len32(n<<6|^imms&63) - 1
	if length < 1 {
		return 0, false
	}
	size := uint(1) << length
	levels := uint32(size - 1)
	s, r := imms&levels, uint(immr&levels)
	if s == levels {
		return 0, false
	}
	run := uint64(1)<<(s+1) - 1
	elem := run >> r
	if r > 0 {
		elem |= run << (size - r)
	}
	if size < 64 {
		elem &= 1<<size - 1
	}
	for ; size < 64; size *= 2 {
		elem |= elem << size
	}
	return elem, true
}

// moveWide is movn, movz, movk.
func moveWide(w uint32, in *cpu.Insn) {
	rd, shift := regZ(w, 0), w>>21&3*16
	imm := uint64(w >> 5 & 0xffff)
	if !bit(w, 31) && shift > 16 {
		unknown(in, rd)
		return
	}
	switch w >> 29 & 3 {
	case 0:
		v := ^(imm << shift)
		if !bit(w, 31) {
			v &= 0xffff_ffff
		}
		constant(in, rd, int64(v))
	case 2:
		constant(in, rd, int64(imm<<shift))
	case 3:
		unary(in, cpu.OpInsert, rd, cpu.NoReg, int64(imm))
		if in.Op == cpu.OpInsert {
			in.Scale = uint8(shift)
			word32(w, in)
		}
	default:
		unknown(in, rd)
	}
}

// bitfieldOrExtract is told by bit 23; extr with opc 3 is autiasppc, autibsppc.
func bitfieldOrExtract(w uint32, in *cpu.Insn) {
	switch {
	case !bit(w, 23):
		bitfield(w, in)
	case w>>29 == 7:
		sign(in)
	default:
		clobber(in, regZ(w, 0))
	}
}

// bitfield is sbfm, bfm, ubfm. Of their aliases lsl and the zero extensions
// (uxtb, uxth, ubfx from bit 0) matter.
func bitfield(w uint32, in *cpu.Insn) {
	rd, rn := regZ(w, 0), regZ(w, 5)
	immr, imms := w>>16&63, w>>10&63
	size := uint32(32)
	if bit(w, 31) {
		size = 64
	}
	const ubfm = 2
	switch {
	case bit(w, 31) != bit(w, 22), w>>29&3 == 3, immr >= size, imms >= size:
		unknown(in, rd)
	case rd == cpu.NoReg:
	case w>>29&3 != ubfm || rn == cpu.NoReg:
		clobber(in, rd)
	case imms+1 == immr:
		unary(in, cpu.OpShlImm, rd, rn, int64(size-immr))
		word32(w, in)
	case imms+1 == size && immr != 0:
		unary(in, cpu.OpShrImm, rd, rn, int64(immr))
		word32(w, in)
	case immr == 0:
		unary(in, cpu.OpAndImm, rd, rn, int64(uint64(1)<<(imms+1)-1))
		word32(w, in)
	default:
		clobber(in, rd)
	}
}
