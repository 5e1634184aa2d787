package x86

import "github.com/backsight/backsight/cpu"

// decoder decodes the 64-bit mode (long) or the 32-bit mode.
type decoder struct{ long bool }

// Decode implements cpu.Decoder. An undefined instruction is one byte long.
func (d decoder) Decode(code []byte, pc uint64, _ cpu.Mode, out []cpu.Insn) int {
	var end [window]byte
	still := blank(0)
	at := 0
	for n := range out {
		left := len(code) - at
		if left == 0 {
			return n
		}
		in := inst{b: &end, long: d.long}
		if left >= window {
			in.b = (*[window]byte)(code[at:])
		} else {
			end = [window]byte{}
			copy(end[:], code[at:])
		}
		defined := in.parse()
		if int(in.n) > left && left < maxLen {
			return n
		}
		o := &out[n]
		*o = still
		o.Len = in.n
		if !defined || !in.effect(o, pc+uint64(at)+uint64(in.n)) {
			*o = blank(1)
			o.Op = cpu.OpUnknown
		}
		at += int(o.Len)
	}
	return len(out)
}

// blank is an instruction without effects.
func blank(length uint8) cpu.Insn {
	return cpu.Insn{
		Len: length, Dst: cpu.NoReg, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg,
		Base: cpu.NoReg, Index: cpu.NoReg,
	}
}

// effect tells what the instruction does; next is the image address behind it.
// It reports false where the opcode turns out to be undefined.
func (in *inst) effect(out *cpu.Insn, next uint64) bool {
	if !in.long {
		next &= 0xffff_ffff
	}
	if in.enc < vex {
		switch in.m {
		case map00:
			return in.oneByte(out, next)
		case map0F:
			return in.twoByte(out, next)
		case map38:
			in.legacy38(out, next)
			return true
		}
	}
	switch {
	case in.enc == xop:
		in.xop(out)
	case in.m == map4:
		return in.promoted(out, next)
	default:
		in.simd(out, next)
	}
	return true
}
