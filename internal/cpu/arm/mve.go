package arm

import "github.com/backsight/backsight/cpu"

// The vector extension of v8.1-M sits in coprocessors 14 and 15
// of the M profile. Only what writes general registers matters.

// vector finds the reductions into one or two general registers.
func vector(w uint32, o *cpu.Insn) {
	if w>>24&15 != 14 {
		return
	}
	lo, hi := cpu.Reg(w>>13&7)*2, w>>20&7
	switch {
	case !bit(w, 23):
		// vidup, viwdup, vddup, vdwdup: the base
		if w>>20&0x1f4 == 0x0e0 && w>>20&3 != 3 && bit(w, 16) && w&0x0f70 == 0x0f60 {
			clobberOne(o, field(w, 16)&^1)
		}
	case bit(w, 21) && w&0x0ff0 == 0x0fc0: // vshlc
		clobberOne(o, field(w, 0))
	case w&0x50 != 0:
	case w&0x101 == 0x101 || hi == 6: // vabav; vmaxv, vminv
		clobberOne(o, field(w, 12))
	case bit(w, 7):
	case hi == 7: // vaddv, vmladav
		clobberOne(o, lo)
	default: // vaddlv, vmlaldav
		clobber(o, cpu.SetOf(lo, cpu.Reg(hi*2+1)))
	}
}

// vectorTransfer is VLDR and VSTR with their write-back, VLD2 to VST4, and VMOV
// from two lanes.
func vectorTransfer(w uint32, o *cpu.Insn) {
	p, up, write := bit(w, 24), bit(w, 23), bit(w, 21)
	rn := field(w, 16)
	switch {
	case !p && !up && !write && (bit(w, 22) || w>>8&15 != 15):
		coprocTransfer(w, o, 0, false) // mrrc
	case bit(w, 28): // vld2 rn!; with P a vector of addresses
		if write && !p {
			clobberOne(o, rn)
		}
	case !p && !up && !write:
		if !bit(w, 20) { // vmov rt,rt2,q[i],q[j]
			clobber(o, cpu.SetOf(field(w, 0), rn))
		}
	case write:
		scale := w >> 7 & 3
		switch {
		case bit(w, 12):
		case scale == 3: // vldr, vstr of a system register: fpcxtns
			scale = 2
		default: // widening or narrowing
			rn, scale = rn&7, w>>19&1
		}
		off := int32(w & 0x7f << scale)
		if !up {
			off = -off
		}
		advance(o, rn, off)
	}
}
