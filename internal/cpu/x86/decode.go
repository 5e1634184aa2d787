package x86

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/memo"
)

// decoder decodes the 64-bit mode (long) or the 32-bit mode.
type decoder struct{ long bool }

// Decode implements cpu.Decoder. An undefined instruction is one byte long.
func (d decoder) Decode(code []byte, pc uint64, _ cpu.Mode, out []cpu.Insn) int {
	n, at := d.decode(code, uint(len(code)), pc, out)
	if n < len(out) && at < uint(len(code)) {
		var end [2 * window]byte
		left := copy(end[:], code[at:])
		last, _ := d.decode(end[:], uint(left), pc+uint64(at), out[n:])
		n += last
	}
	return n
}

// fresh64 and fresh32 are the inst of either mode before an instruction is parsed, made when code of the mode is looked at.
var fresh64, fresh32 memo.Once[*inst]

func (d decoder) fresh() *inst {
	if d.long {
		return fresh64.Get(newInst64)
	}
	return fresh32.Get(newInst32)
}

func newInst64() *inst {
	return &inst{maps: newMaps(true), mask: 1<<64 - 1, regs: &numbered64, indexes: indexesOf(numbered64), rexBits: 0xf0, relative: 1<<64 - 1, long: true}
}

func newInst32() *inst {
	return &inst{maps: newMaps(false), mask: 1<<32 - 1, regs: &numbered32, indexes: indexesOf(numbered32)}
}

// decode decodes instructions that begin where a whole window of code is left, up to the first
// that ends behind limit. The results are the number of instructions and the index in code of
// their end.
func (d decoder) decode(code []byte, limit uint, pc uint64, out []cpu.Insn) (n int, at uint) {
	in := *d.fresh()
	reads, tells := parser{&in}, effectDecoder{shapes{operands{&in}}}
	for n = range out {
		if at >= limit || at+window > uint(len(code)) {
			return n, at
		}
		b := (*[window]byte)(code[at : at+window : at+window])
		in.b = b
		e, length := reads.parse(b)
		end := at + length
		if end > limit && limit-at < maxLen {
			return n, at
		}
		o := &out[n]
		*o = noEffect
		o.Len = uint8(length)
		if !tells.tell(e, o, (pc+uint64(end))&in.mask) {
			*o = undefinedInsn
			end = at + 1
		}
		at = end
	}
	return len(out), at
}

// noEffect is an instruction that changes nothing a stack cares about.
var noEffect = cpu.Insn{
	Dst: cpu.NoReg, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg,
	Base: cpu.NoReg, Index: cpu.NoReg,
}

// undefinedInsn is what an undefined opcode is told as.
var undefinedInsn = cpu.Insn{
	Op: cpu.OpUnknown, Len: 1,
	Dst: cpu.NoReg, Dst2: cpu.NoReg, Src: cpu.NoReg, Src2: cpu.NoReg,
	Base: cpu.NoReg, Index: cpu.NoReg,
}

// escaped sets the effects of an instruction outside the one-byte and two-byte maps; false where
// the opcode is undefined.
func (in effectDecoder) escaped(out *cpu.Insn, next uint64) bool {
	switch {
	case in.enc < vex && in.m == map38:
		simdDecoder(in).legacy38(out, next)
	case in.enc == xop:
		simdDecoder(in).xop(out)
	case in.m == map4:
		return apxDecoder(in).promoted(out, next)
	default:
		simdDecoder(in).simd(out, next)
	}
	return true
}
