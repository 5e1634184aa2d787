package arm64

import "github.com/backsight/backsight/cpu"

// exclusive decodes load and store exclusive, load-acquire, store-release,
// compare and swap: o2 is bit 23, L bit 22, o1 bit 21.
func exclusive(w uint32, in *cpu.Insn) {
	rs, rt, rt2 := regZ(w, 16), regZ(w, 0), regZ(w, 10)
	base, size := regS(w, 5), uint8(1)<<(w>>30)
	which := w >> 21 & 7
	if which&5 == 1 && !bit(w, 31) { // a pair of less than words
		comparePair(w, in)
		return
	}
	switch which {
	case 0, 1: // stxr, stxp: the store may fail, rs tells
		clobber(in, rs)
	case 2, 6: // ldxr, ldar
		plain(in, cpu.OpLoad, rt, base, size)
	case 3: // ldxp
		loadPair(in, rt, rt2, base, 0, offset, size)
	case 4: // stlr
		plain(in, cpu.OpStore, rt, base, size)
	case 5, 7: // cas
		clobber(in, rs)
	}
}

// comparePair is casp: rs and the register after it get the old value.
func comparePair(w uint32, in *cpu.Insn) {
	clobberSet(in, cpu.SetOf(regZ(w, 16), regZ(w|1<<16, 16)))
}

// plain is an access at the base register itself.
func plain(in *cpu.Insn, op cpu.Op, rt, base cpu.Reg, size uint8) {
	if op == cpu.OpLoad && rt == cpu.NoReg {
		return
	}
	in.Op, in.Size, in.Base = op, size, base
	if op == cpu.OpLoad {
		in.Dst = rt
	} else {
		in.Src = rt
	}
}

// atomic decodes LSE: ldadd, swp, …, which give the old value in rt; ldapr; and
// the 64-byte accesses, of which st64bv and st64bv0 give a status in rs.
func atomic(w uint32, in *cpu.Insn) {
	rt := regZ(w, 0)
	if bit(w, 26) { // ldfadd, …
		return
	}
	switch {
	case w&0x3fe0fc00 == 0x38a0c000: // ldapr
		plain(in, cpu.OpLoad, rt, regS(w, 5), 1<<(w>>30))
	case w&0xfffffc00 == 0xf83fd000: // ld64b
		in.List = eight << (w & 31) & general
		in.Op = cpu.OpClobber
	case w&0xfffffc00 == 0xf83f9000: // st64b
	case w&0xffe0fc00 == 0xf820b000, w&0xffe0fc00 == 0xf820a000: // st64bv, st64bv0
		clobber(in, regZ(w, 16))
	default:
		clobber(in, rt)
	}
}

const (
	eight   cpu.RegSet = 1<<8 - 1
	general cpu.RegSet = 1<<SP - 1
)

// ordered decodes what has bits 29..24 = 011001 or 011101: load-acquire and
// store-release with an offset or an update of the base, memory tags, memory
// copy and set.
func ordered(w uint32, in *cpu.Insn) {
	which := w >> 10 & 3
	switch {
	case bit(w, 21):
		if w>>30 == 3 && !bit(w, 26) {
			tags(w, in)
			return
		}
		// 128-bit atomics (LSE128) and those on translation tables (THE).
		in.Op, in.List = cpu.OpUnknown, cpu.SetOf(regZ(w, 0), regZ(w, 16))
	case which == 0 && !bit(w, 26), which == 2 && bit(w, 26): // stlur, ldapur
		one(w, sext(w>>12, 9), offset, in)
	case which == 1:
		copyOrSet(w, in)
	case which == 2:
		orderedPair(w, in)
	}
}

// copyOrSet is cpyp, cpyfm, sete, …: pointers and count run along. A copy
// updates rs, a set only reads it.
func copyOrSet(w uint32, in *cpu.Insn) {
	const set = 3
	rs := regZ(w, 16)
	if w>>22&3 == set {
		rs = cpu.NoReg
	}
	clobberSet(in, cpu.SetOf(regZ(w, 0), regZ(w, 5), rs))
}

// orderedPair is ldiapp, stilp, and ldapr, stlr with an update of the base
// (RCPC3): loads move it up behind the access, stores down ahead of it. Bit 12
// of a pair leaves the base alone.
func orderedPair(w uint32, in *cpu.Insn) {
	size, base := int64(1)<<(w>>30), regS(w, 5)
	rt, rt2 := regZ(w, 0), regZ(w, 16)
	load, mode, step := bit(w, 22), offset, int64(0)
	single := bit(w, 23)
	if single || !bit(w, 12) {
		mode, step = preIndex, -2*size
		if load {
			mode, step = postIndex, 2*size
		}
	}
	if single {
		rt2 = cpu.NoReg
		step /= 2
	}
	if load {
		loadPair(in, rt, rt2, base, step, mode, uint8(size))
		return
	}
	in.Op, in.Src, in.Src2, in.Size = cpu.OpStore, rt, rt2, uint8(size)
	access(in, base, step, mode)
}

// tags is the loads and stores of memory tags (MTE): stg, st2g, stzg, stz2g
// with three kinds of indexing; op2 0 is ldg, ldgm, stgm, stzgm.
func tags(w uint32, in *cpu.Insn) {
	imm := sext(w>>12, 9) * 16
	switch w >> 10 & 3 {
	case 0:
		if bit(w, 22) { // ldg, ldgm
			clobber(in, regZ(w, 0))
		}
	case 1:
		writeBack(in, regS(w, 5), imm, postIndex)
	case 3:
		writeBack(in, regS(w, 5), imm, preIndex)
	}
}

// structures decodes ld1..ld4, st1..st4 of whole vectors (bit 24 clear) and of
// single elements. Bit 23 adds rm to the base, or for rm = 31 the bytes moved.
func structures(w uint32, in *cpu.Insn) {
	size, ok := multipleSize(w)
	if bit(w, 24) {
		size, ok = elementSize(w), true
	}
	base, rm, load := regS(w, 5), regZ(w, 16), bit(w, 22)
	switch {
	case !ok:
		unknown(in, cpu.NoReg)
	case bit(w, 23) && rm != cpu.NoReg:
		in.Op, in.Dst, in.Src, in.Src2 = cpu.OpAdd, base, base, rm
	case load && bit(w, 23):
		unary(in, cpu.OpAddImm, base, base, int64(size))
	case load:
	default:
		in.Op, in.Size, in.Base = cpu.OpStore, size, base
		if bit(w, 23) {
			in.WB = int32(size)
		}
	}
}

// multipleSize is the number of bytes that ld1..ld4 of whole vectors move.
func multipleSize(w uint32) (uint8, bool) {
	var count uint8
	switch w >> 12 & 15 {
	case 0, 2:
		count = 4
	case 4, 6:
		count = 3
	case 8, 10:
		count = 2
	case 7:
		count = 1
	}
	if bit(w, 30) {
		return count * 16, count != 0
	}
	return count * 8, count != 0
}

// elementSize is the number of bytes that ld1..ld4 of single elements move. An
// opcode of 3 in bits 15..14 is the load that replicates, with its size apart.
func elementSize(w uint32) uint8 {
	count := w>>13&1<<1 | w>>21&1 + 1
	log := w >> 14 & 3
	switch {
	case log == 3:
		log = w >> 10 & 3
	case log == 2 && bit(w, 10):
		log = 3
	}
	return uint8(count << log)
}
