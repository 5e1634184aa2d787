package x86

import "github.com/backsight/backsight/cpu"

// simdDecoder tells the effects of vector instructions: what they write to general registers and to memory.
type simdDecoder struct{ shapes }

// simd tells the effects of vector instructions, and of the general ones that
// VEX encodes: which write a general register, which store. SSE, AVX and
// AVX-512 share their opcodes, so one list does for all encodings.
func (in simdDecoder) simd(out *cpu.Insn, next uint64) {
	switch in.m {
	case map0F:
		in.simd0F(out, next)
	case map38:
		in.simd38(out, next)
	case map3A:
		in.simd3A(out, next)
	case map5:
		in.simd5(out, next)
	case map7: // urdmsr with an immediate
		if in.op == 0xf8 && in.rep == 0xf2 {
			clobber1(out, in.rm())
		}
	}
}

// scalar tells whether the prefix is F3 or F2: single and double scalars.
func (in simdDecoder) scalar() bool { return in.rep != 0 }

// writeReg is an unknown result in the reg operand.
func (in shapes) writeReg(out *cpu.Insn) { clobber(out, cpu.SetOf(in.reg())) }

// gprSize is the size of a general register operand of a vector instruction.
func (in simdDecoder) gprSize() uint8 {
	if in.w() && in.long {
		return 8
	}
	return 4
}

func (in simdDecoder) simd0F(out *cpu.Insn, next uint64) {
	switch in.op {
	case 0x2c, 0x2d: // cvttss2si, cvtss2si
		if in.scalar() {
			in.writeReg(out)
		}
	case 0x78, 0x79: // vcvttss2usi, vcvtss2usi
		if in.enc == evex && in.scalar() {
			in.writeReg(out)
		}
	case 0x50, 0xc5, 0xd7, 0x93: // movmskps, pextrw, pmovmskb, kmov
		in.writeReg(out)
	case 0x7e: // movd, movq; F3 is a vector load
		if in.rep == 0 {
			in.extract(out, next, in.gprSize())
		}
	case 0x11: // movups, movss, …
		in.storeVector(out, next, in.scalarSize())
	case 0x13, 0x17: // movlps, movhps
		in.storeVector(out, next, 8)
	case 0x29, 0x2b, 0xe7: // movaps, movntps, movntdq, movntq
		in.storeVector(out, next, in.scalarSize())
	case 0x7f:
		in.storeVector(out, next, in.vectorSize())
	case 0x91: // kmov to memory
		in.storeVector(out, next, in.maskSize())
	case 0xd6:
		in.storeVector(out, next, 8)
	case 0x1b: // bndmov; bndstx writes a table elsewhere
		if in.opsize() && in.enc == legacy {
			in.storeVector(out, next, 2*in.word())
		}
	case 0xae: // vstmxcsr
		if in.group() == 3 {
			in.storeVector(out, next, 4)
		}
	}
}

// vectorSize is the size of a whole vector; legacy encodings without 66 or F3
// are MMX there.
func (in simdDecoder) vectorSize() uint8 {
	switch {
	case in.enc != legacy && in.enc != rex2:
		return in.vl
	case in.op >= 0x60 && in.rep == 0 && !in.opsize():
		return 8
	}
	return 16
}

// scalarSize is vectorSize, but 4 and 8 with the prefixes of the scalars.
func (in simdDecoder) scalarSize() uint8 {
	switch in.rep {
	case 0xf3:
		return 4
	case 0xf2:
		return 8
	}
	return in.vectorSize()
}

// maskSize is the size of kmovb, w, d, q: W and 66 tell.
func (in simdDecoder) maskSize() uint8 {
	switch {
	case in.w() && in.opsize():
		return 4
	case in.w():
		return 8
	case in.opsize():
		return 1
	}
	return 2
}

// extract writes size bytes of a vector to the rm operand; a register is
// zero-extended.
func (in simdDecoder) extract(out *cpu.Insn, next uint64, size uint8) {
	if in.isReg() {
		clobber1(out, in.rm())
		return
	}
	in.storeVector(out, next, size)
}

// storeVector is a store of no register that matters, where rm is memory.
func (in simdDecoder) storeVector(out *cpu.Insn, next uint64, size uint8) {
	in.storeScaled(out, next, size, size)
}

// storeScaled is the same where EVEX scales its one-byte displacement by other
// than the size (SDM volume 2, section 2.7.5).
func (in simdDecoder) storeScaled(out *cpu.Insn, next uint64, size, step uint8) {
	if in.isReg() || in.seg != 0 || in.adsize {
		return
	}
	if in.enc != evex {
		step = 1
	}
	in.effective(out, next)
	if in.modrm>>6 == 1 {
		out.Imm *= int64(step)
	}
	out.Op, out.Size = cpu.OpStore, size
}

// simd38 is the 0F 38 map with VEX or EVEX: BMI, cmpccxadd, masked and
// narrowing stores.
func (in simdDecoder) simd38(out *cpu.Insn, next uint64) {
	switch op := in.op; {
	case op == 0xf3: // blsr, blsmsk, blsi
		clobber1(out, in.gpr(in.v))
	case op == 0xf6 && in.rep == 0xf2: // mulx
		clobber(out, cpu.SetOf(in.reg(), in.gpr(in.v)))
	case op == 0xf2, op == 0xf5, op == 0xf7, op >= 0xe0 && op < 0xf0: // andn, pdep, shlx, cmpccxadd
		in.writeReg(out)
	case op == 0x49 && in.opsize(): // sttilecfg
		in.storeVector(out, next, 64)
	case in.enc == vex && (op == 0x2e || op == 0x2f || op == 0x8e): // vmaskmov
		in.storeVector(out, next, in.vl)
	case in.enc == evex && in.rep == 0xf3 && op >= 0x10 && op < 0x36 && op&15 < 6: // vpmovwb, …
		in.storeVector(out, next, in.vl>>narrowing[op&15])
	case in.enc == evex && (op == 0x63 || op == 0x8a || op == 0x8b): // vpcompressb, vcompressps, vpcompressd
		in.storeScaled(out, next, in.vl, in.elementSize())
	}
}

// narrowing is the shift from a vector's size to that of its narrowed elements:
// w→b, d→b, q→b, d→w, q→w, q→d.
var narrowing = [6]uint8{1, 2, 3, 1, 2, 1}

// elementSize is that of vpcompressb, w (63) and d, q.
func (in simdDecoder) elementSize() uint8 {
	size := uint8(4)
	if in.op == 0x63 {
		size = 1
	}
	if in.w() {
		size *= 2
	}
	return size
}

// simd3A is the 0F 3A map in all encodings.
func (in simdDecoder) simd3A(out *cpu.Insn, next uint64) {
	switch in.op {
	case 0x14: // pextrb
		in.extract(out, next, 1)
	case 0x15: // pextrw
		in.extract(out, next, 2)
	case 0x16: // pextrd, pextrq
		in.extract(out, next, in.gprSize())
	case 0x17: // extractps
		in.extract(out, next, 4)
	case 0x19, 0x39: // vextractf128
		in.storeVector(out, next, 16)
	case 0x1b, 0x3b: // vextractf32x8
		in.storeVector(out, next, 32)
	case 0x1d: // vcvtps2ph
		if in.enc != legacy {
			in.storeVector(out, next, in.vl/2)
		}
	case 0x61, 0x63: // pcmpestri, pcmpistri
		if in.enc != evex {
			clobber1(out, in.gpr(1))
		}
	case 0xf0: // rorx
		if in.enc != legacy {
			in.writeReg(out)
		}
	}
}

// simd5 is EVEX map 5: FP16, and AVX10.2's saturating conversions.
func (in simdDecoder) simd5(out *cpu.Insn, next uint64) {
	switch in.op {
	case 0x2c, 0x2d, 0x78, 0x79, 0x6c, 0x6d:
		if in.scalar() {
			in.writeReg(out)
		}
	case 0x7e:
		in.extract(out, next, 2)
	case 0x11: // vmovsh
		in.storeVector(out, next, 2)
	}
}

// legacy38 is the 0F 38 map without VEX.
func (in simdDecoder) legacy38(out *cpu.Insn, next uint64) {
	switch in.op {
	case 0xf0: // movbe, crc32 of a byte
		in.writeReg(out)
	case 0xf1: // movbe to memory; F2 is crc32
		if in.rep == 0xf2 {
			in.writeReg(out)
		} else {
			in.store(out, next, cpu.NoReg, in.size())
		}
	case 0xf5, 0xf6: // wruss, wrss; adcx, adox
		if !in.isReg() && in.op == 0xf5 || in.op == 0xf6 && in.rep == 0 && !in.opsize() {
			in.store(out, next, cpu.NoReg, in.gprSize())
		} else if in.op == 0xf6 {
			in.writeReg(out)
		}
	case 0xf8: // urdmsr; else movdir64b, enqcmd
		if in.isReg() && in.rep == 0xf2 {
			clobber1(out, in.rm())
		}
	case 0xf9, 0xfc: // movdiri; aadd, aand, aor, axor
		if !in.isReg() {
			in.store(out, next, cpu.NoReg, in.gprSize())
		}
	case 0xfa, 0xfb: // encodekey128, encodekey256
		if in.rep == 0xf3 {
			in.writeReg(out)
		}
	}
}

// xop tells the effects of AMD's XOP maps: TBM and the profiling instructions.
func (in simdDecoder) xop(out *cpu.Insn) {
	switch {
	case in.m == xop9 && (in.op == 0x01 || in.op == 0x02): // blcfill, blsic, …
		clobber1(out, in.gpr(in.v))
	case in.m == xop9 && in.op == 0x12: // slwpcb
		if in.group() == 1 {
			clobber1(out, in.rm())
		}
	case in.m == xopA && in.op == 0x10: // bextr
		in.writeReg(out)
	}
}
