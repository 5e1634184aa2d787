package arm

import "github.com/backsight/backsight/cpu"

// The coprocessor, VFP and Advanced SIMD spaces, whose encodings T32 shares with
// A32 but for the top byte. always tells the unconditional half (A32's condition
// 1111, T32's 1111 11).

// coprocTransfer is bits 27:25 = 110 (v7 A5.6, A7.6, A7.9): LDC and STC, VLDM
// and VSTM, and the transfers of two core registers.
func coprocTransfer(w uint32, o *cpu.Insn, here uint32, always bool) {
	cp, rn := w>>8&15, field(w, 16)
	if always && cp >= 8 && cp <= 13 {
		return // Advanced SIMD of ARMv8: vcmla, vdot, vfmal
	}
	p, up, double, write, load := bit(w, 24), bit(w, 23), bit(w, 22), bit(w, 21), bit(w, 20)
	if !p && !up && !write {
		switch {
		case !double:
			unknown(o)
		case load: // mrrc, vmov rt,rt2,d
			clobber(o, cpu.SetOf(field(w, 12), rn))
		}
		return
	}
	off := int32(w & 0xff << 2)
	if !up {
		off = -off
	}
	vfp := cp>>1 == 5
	switch {
	case write && vfp && p == up: // vlldm, vlstm
	case write:
		advance(o, rn, off)
		if rn == SP && vfp && up == load {
			o.Flags |= cpu.FlagFrameSetup // vpush, vpop
		}
	case vfp && p && !load: // vstr
		access(o, word+kind(cp&1)*half, cpu.NoReg, rn, off, true, false, here&^3)
	}
}

// advance is the write-back of a base that alone matters. The PC as a base does
// not change (UNPREDICTABLE).
func advance(o *cpu.Insn, rn cpu.Reg, off int32) {
	if rn != PC {
		withImm(o, cpu.OpAddImm, rn, rn, off)
	}
}

// coproc is bits 27:24 = 1110: MRC and what reads a SIMD element into a core
// register (vmov, vmrs); the others write none.
func coproc(w uint32, o *cpu.Insn, always bool) {
	if always && w>>9&7 == 4 {
		return // cp 8, 9: Advanced SIMD
	}
	if bit(w, 4) && bit(w, 20) && !(always && w>>9&7 == 5) {
		clobberOne(o, field(w, 12))
	}
}

// simdTransfer is the Advanced SIMD load or store of structures (v7 A7.7). The
// register m says how the base changes: 15 not, 13 by the bytes transferred.
func simdTransfer(w uint32, o *cpu.Insn) {
	rn := field(w, 16)
	switch field(w, 0) {
	case PC:
	case SP:
		if size := simdBytes(w); size != 0 {
			advance(o, rn, size)
		} else {
			unknown(o)
		}
	default:
		clobberOne(o, rn)
	}
}

// simdBytes is what an element or structure access transfers, 0 if undefined.
func simdBytes(w uint32) int32 {
	n := int32(w>>8&3) + 1
	switch {
	case !bit(w, 23): // multiple structures, by type
		regs := [16]uint8{4, 4, 4, 2, 3, 3, 3, 1, 2, 2, 2}[w>>8&15]
		return 8 * int32(regs)
	case w>>10&3 != 3: // one lane
		return n << (w >> 10 & 3)
	}
	size := w >> 6 & 3 // all lanes
	if size == 3 {
		size = 2
	}
	return n << size
}
