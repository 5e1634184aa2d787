package arm64

import "github.com/backsight/backsight/cpu"

// indexing is the addressing modes of pairs (bits 24..23) and of 9-bit offsets (bits
// 11..10): bit 0 adds the offset to the address, bit 1 to the base.
type indexing uint8

const (
	offset    indexing = 1
	postIndex indexing = 2
	preIndex  indexing = 3
)

// literal loads from an address relative to the PC.
func literal(w uint32, pc uint64, in *cpu.Insn) {
	rt := regZ(w, 0)
	size := uint8(4)
	switch w >> 30 {
	case 1:
		size = 8
	case 2:
		in.Flags = cpu.FlagSigned
	}
	if bit(w, 26) || w>>30 == 3 || rt == cpu.NoReg { // vector, prfm
		in.Flags = 0
		return
	}
	in.Op, in.Dst, in.Size = cpu.OpLoad, rt, size
	in.Imm = int64(pc) + sext(w>>5, 19)<<2
}

// access fills the memory operand of an access with an immediate offset.
func access(in *cpu.Insn, base cpu.Reg, imm int64, mode indexing) {
	in.Base, in.Imm, in.WB = base, imm&-int64(mode&1), int32(imm)&-int32(mode>>1)
}

// writeBack is what is left of an access that loads nothing of interest.
func writeBack(in *cpu.Insn, base cpu.Reg, imm int64, mode indexing) {
	if mode != offset && imm != 0 {
		unary(in, cpu.OpAddImm, base, base, imm)
	}
}

// pairIndexing is the addressing mode of a pair.
func pairIndexing(w uint32) indexing {
	return [4]indexing{offset, postIndex, offset, preIndex}[w>>23&3]
}

// pair is ldp, stp, ldnp, stnp, ldpsw, stgp; opc 3 is ldtp, sttp (LSUI).
func pair(w uint32, in *cpu.Insn) {
	opc, load, mode := w>>30, w>>22&1, pairIndexing(w)
	base, rt, rt2 := regS(w, 5), regZ(w, 0), regZ(w, 10)
	size := uint8(4) << (opc >> 1)
	imm := sext(w>>15, 7) * int64(size)
	if opc == 1 && load == 0 { // stgp: two words, and a tag for their granule
		size = 8
		imm *= 4
	}
	if (rt == cpu.NoReg || rt2 == cpu.NoReg) && load != 0 {
		loadPair(in, rt, rt2, base, imm, mode, size)
	} else {
		x := moves[load]
		in.Op, in.Size = x.op, size
		in.Dst, in.Dst2, in.Src, in.Src2 = rt|x.notDst, rt2|x.notDst, rt|x.notSrc, rt2|x.notSrc
		access(in, base, imm, mode)
	}
	if opc == 1 && in.Op == cpu.OpLoad {
		in.Flags = cpu.FlagSigned
	}
}

// loadPair drops the halves that go to xzr.
func loadPair(in *cpu.Insn, rt, rt2, base cpu.Reg, imm int64, mode indexing, size uint8) {
	if rt == cpu.NoReg && rt2 == cpu.NoReg {
		writeBack(in, base, imm, mode)
		return
	}
	in.Op, in.Dst, in.Dst2, in.Size = cpu.OpLoad, rt, rt2, size
	access(in, base, imm, mode)
	if rt == cpu.NoReg {
		in.Dst, in.Dst2 = rt2, cpu.NoReg
		in.Imm += int64(size)
	}
}

// vectorPair is the like for vector registers.
func vectorPair(w uint32, in *cpu.Insn) {
	opc, mode, base := w>>30, pairIndexing(w), regS(w, 5)
	if opc == 3 {
		unknown(in, cpu.NoReg)
		return
	}
	size := uint8(4) << opc
	imm := sext(w>>15, 7) * int64(size)
	if bit(w, 22) {
		writeBack(in, base, imm, mode)
		return
	}
	in.Op, in.Size = cpu.OpStore, 2*size
	access(in, base, imm, mode)
}

// unscaled is the loads and stores of one register but those with a scaled offset:
// bits 31..30 the size, bit 26 a vector register, bits 23..22 what to do.
func unscaled(w uint32, in *cpu.Insn) {
	imm := sext(w>>12, 9)
	switch w>>21&1<<2 | w>>10&3 {
	case 0, 2: // unscaled, unprivileged
		one(w, imm, offset, in)
	case 1:
		one(w, imm, postIndex, in)
	case 3:
		one(w, imm, preIndex, in)
	case 4:
		atomic(w, in)
	case 6:
		registerOffset(w, in)
	case 5, 7:
		loadAuthenticated(w, in)
	}
}

// sizeLog is the binary logarithm of the size of the access; that of a 16-byte
// vector has its upper bit in opc.
func sizeLog(w uint32) uint32 {
	if bit(w, 26) && bit(w, 23) {
		return w>>30 | 4
	}
	return w >> 30
}

// scaled is the loads and stores of one general register with a scaled offset. What
// is rare among them takes the long way.
func scaled(w uint32, in *cpu.Insn) {
	log, opc, rt := w>>30, w>>22&3, regZ(w, 0)
	imm := int64(w>>10&0xfff) << (log & 3)
	if opc&log&2 != 0 || rt == cpu.NoReg {
		one(w, imm, offset, in)
		return
	}
	moveGeneral(in, log, opc, rt)
	access(in, regS(w, 5), imm, offset)
}

// moveGeneral fills in what an access does with a general register.
func moveGeneral(in *cpu.Insn, log, opc uint32, rt cpu.Reg) {
	x := &moves[opc&3]
	in.Op, in.Dst, in.Src, in.Flags, in.Size = x.op, rt|x.notDst, rt|x.notSrc, x.flags, 1<<(log&3)
}

// one is a load or store of one register with the common fields of size, V, opc.
// Loads and stores take the same way, for they come in no order.
func one(w uint32, imm int64, mode indexing, in *cpu.Insn) {
	base, rt := regS(w, 5), regZ(w, 0)
	log, opc := sizeLog(w), w>>22&3
	switch {
	case bit(w, 26):
		oneVector(log, opc, base, imm, mode, in)
	case opc == 3 && log > 1:
		unknown(in, cpu.NoReg)
	case opc == 2 && log == 3: // prfm
	case rt == cpu.NoReg && opc != 0:
		writeBack(in, base, imm, mode)
	default:
		moveGeneral(in, log, opc, rt)
		access(in, base, imm, mode)
	}
}

// moves say what opc does with the register: a store, and loads that extend with
// zeros, with the sign to 64 bits, and to 32. Of notDst and notSrc one is NoReg.
var moves = [4]struct {
	op             cpu.Op
	notDst, notSrc cpu.Reg
	flags          cpu.Flags
}{
	{cpu.OpStore, cpu.NoReg, 0, 0},
	{cpu.OpLoad, 0, cpu.NoReg, 0},
	{cpu.OpLoad, 0, cpu.NoReg, cpu.FlagSigned},
	{cpu.OpLoad, 0, cpu.NoReg, cpu.FlagSigned | cpu.FlagWord32},
}

// oneVector is the like for a vector register.
func oneVector(log, opc uint32, base cpu.Reg, imm int64, mode indexing, in *cpu.Insn) {
	switch {
	case log > 4:
		unknown(in, cpu.NoReg)
	case opc&1 != 0:
		writeBack(in, base, imm, mode)
	default:
		in.Op, in.Size = cpu.OpStore, 1<<log
		access(in, base, imm, mode)
	}
}

// registerOffset is [xn, xm, lsl #s] and [xn, wm, uxtw #s].
func registerOffset(w uint32, in *cpu.Insn) {
	if !bit(w, 14) { // an extension from less than 32 bits
		unknown(in, cpu.NoReg)
		return
	}
	one(w, 0, offset, in)
	if in.Op != cpu.OpLoad && in.Op != cpu.OpStore {
		return
	}
	in.Index = regZ(w, 16)
	if bit(w, 12) && in.Index != cpu.NoReg {
		in.Scale = uint8(sizeLog(w))
	}
}

// loadAuthenticated is ldraa, ldrab: a load through a pointer that is
// authenticated first.
func loadAuthenticated(w uint32, in *cpu.Insn) {
	rt, mode := regZ(w, 0), offset
	imm := sext(w>>22&1<<9|w>>12&0x1ff, 10) * 8
	if bit(w, 11) {
		mode = preIndex
	}
	switch {
	case w>>30 != 3 || bit(w, 26):
		unknown(in, cpu.NoReg)
	case rt == cpu.NoReg:
		writeBack(in, regS(w, 5), imm, mode)
	default:
		in.Op, in.Dst, in.Size = cpu.OpLoad, rt, 8
		access(in, regS(w, 5), imm, mode)
	}
}
