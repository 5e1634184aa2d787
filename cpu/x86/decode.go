package x86

import "github.com/backsight/backsight/cpu"

// decoder decodes the 64-bit mode (long) or the 32-bit mode.
type decoder struct{ long bool }

// Decode implements cpu.Decoder. An undefined instruction is one byte long.
func (d decoder) Decode(code []byte, pc uint64, _ cpu.Mode, out []cpu.Insn) int {
	regs := d.numbering()
	at, n := 0, 0
	for ; n < len(out) && len(code)-at >= window; n++ {
		b := (*[window]byte)(code[at:])
		in := inst{b: b, regs: regs, long: d.long}
		length, _ := in.decode(b, pc+uint64(at), &out[n])
		at += length
	}
	var end [window]byte
	for ; n < len(out) && at < len(code); n++ {
		end = [window]byte{}
		left := copy(end[:], code[at:])
		in := inst{b: &end, regs: regs, long: d.long}
		length, seen := in.decode(&end, pc+uint64(at), &out[n])
		if seen > left && left < maxLen {
			break
		}
		at += length
	}
	return n
}

// numbering of the general registers in encodings.
func (d decoder) numbering() *[32]cpu.Reg {
	if d.long {
		return &numbered64
	}
	return &numbered32
}

// decode takes apart the instruction at image address pc and tells its effects.
// It returns the length, and how many bytes it looked at, which are more where
// the instruction turns out to be undefined.
func (in *inst) decode(b *[window]byte, pc uint64, out *cpu.Insn) (length, seen int) {
	n, defined := in.parse(b)
	*out = still
	out.Len = uint8(n)
	next := pc + uint64(n)
	if !in.long {
		next &= 0xffff_ffff
	}
	switch {
	case !defined:
	case in.m == map00:
		defined = in.oneByte(out, next)
	default:
		defined = in.escaped(out, next)
	}
	if defined {
		return int(n), int(n)
	}
	*out = still
	out.Op, out.Len = cpu.OpUnknown, 1
	return 1, int(n)
}

// still is an instruction without effects.
var still = cpu.Insn{
	Dst: cpu.NoReg, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg,
	Base: cpu.NoReg, Index: cpu.NoReg,
}

// escaped tells what an instruction outside the one-byte map does; next is the
// image address behind it. It reports false where the opcode turns out to be
// undefined.
func (in *inst) escaped(out *cpu.Insn, next uint64) bool {
	switch {
	case in.enc < vex && in.m == map0F:
		return in.twoByte(out, next)
	case in.enc < vex && in.m == map38:
		in.legacy38(out, next)
	case in.enc == xop:
		in.xop(out)
	case in.m == map4:
		return in.promoted(out, next)
	default:
		in.simd(out, next)
	}
	return true
}
