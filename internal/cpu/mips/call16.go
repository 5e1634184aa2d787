package mips

import "github.com/backsight/backsight/cpu"

// callBefore looks for jalrc right before ra, jal or jalx and their 16-bit
// slot, and jalr and its slot. A slot holds no jump, so jalrc comes first; a jal
// whose second half looks like jalr is likelier than a jalr behind a halfword
// that looks like jal.
func (d mips16Decoder) callBefore(before []byte, ra uint64) (cpu.CallSite, bool) {
	for _, back := range [...]int{2, 6, 4} {
		start := len(before) - back
		if start < 0 {
			continue
		}
		var out [2]cpu.Insn
		n := d.decode(before[start:], ra-uint64(back), out[:])
		if n > 0 && callEnds(&out[0], out[1:n], back) {
			return d.site(&out[0], ra-uint64(back))
		}
	}
	return cpu.CallSite{}, false
}

// callEnds tells whether i is a call that, with its delay slot, is back bytes
// long.
func callEnds(i *cpu.Insn, rest []cpu.Insn, back int) bool {
	if i.Op != cpu.OpCall {
		return false
	}
	length := int(i.Len)
	if i.Flags&slot != 0 {
		if len(rest) == 0 {
			return false
		}
		length += int(rest[0].Len)
	}
	return length == back
}

// calls steps over the prefixes to find jal and jalx.
func (d mips16Decoder) calls(code []byte, pc uint64, dst []cpu.CallRef) []cpu.CallRef {
	for len(code) >= 4 {
		length := 2
		switch h := d.half(code); h >> 11 {
		case opJal16:
			var i cpu.Insn
			begin(&i, 4)
			d.jal(insn16{h: d.half(code[2:]), ext: h}, pc, &i)
			dst = d.appendCall(dst, &i, pc, true)
			length = 4
		case opExtend16:
			length = 4
		}
		code = code[length:]
		pc += uint64(length)
	}
	return dst
}
