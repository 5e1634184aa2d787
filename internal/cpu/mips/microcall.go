package mips

import "github.com/backsight/backsight/cpu"

// callBefore looks for the shortest call that ends at ra: jalrc of release
// 6 (2), jalrs16 and its 16-bit slot or balc (4), jals, bals and jalrs32 with a
// 16-bit slot or jalr16 with a 32-bit one (6), jal, bal, jalr32 and jalx with a
// 32-bit one (8). A slot's length is part of the instruction, so that it must
// fit.
func (d microDecoder) callBefore(before []byte, ra uint64) (cpu.CallSite, bool) {
	for back := 2; back <= 8; back += 2 {
		start := len(before) - back
		if start < 0 {
			break
		}
		var out [2]cpu.Insn
		n := d.decode(before[start:], ra-uint64(back), out[:])
		if n == 0 || !callEnds(&out[0], out[1:n], back) {
			continue
		}
		if out[0].Flags&slot != 0 && d.shortSlot(before[start:]) != (out[1].Len == 2) {
			continue
		}
		return d.site(&out[0], ra-uint64(back))
	}
	return cpu.CallSite{}, false
}

// shortSlot tells whether the call that starts code wants a 16-bit slot: jals,
// jalrs (16 and 32 bits), bltzals and bgezals.
func (d microDecoder) shortSlot(code []byte) bool {
	h := d.half(code)
	switch h >> 10 {
	case 0x11: // jalrs16
		return h&0x20 != 0
	case 0x1d: // jals
		return true
	case 0x10: // bltzals, bgezals
		return h&0x200 != 0
	case 0x00: // jalrs, jalrs.hb
		return d.half(code[2:])&0x4000 != 0
	}
	return false
}

// calls steps over the instructions to find jal, jals, jalx, bal, bals and
// balc.
func (d microDecoder) calls(code []byte, pc uint64, dst []cpu.CallRef) []cpu.CallRef {
	for at := 0; at+4 <= len(code); {
		w := d.halves(code, at)
		if microDirectCalls>>w.op()&1 != 0 {
			var i cpu.Insn
			begin(&i, 4)
			d.insn(w, pc+uint64(at), &i)
			dst = d.appendCall(dst, &i, pc+uint64(at), microAbsolute>>w.op()&1 != 0)
		}
		at += w.size()
	}
	return dst
}

// microDirectCalls has a bit for each major opcode that may call directly: pool
// 32I, jals, balc, jalx and jal.
const microDirectCalls uint64 = 1<<0x10 | 1<<0x1d | 1<<0x2d | 1<<0x3c | 1<<0x3d

// microAbsolute has a bit for each of them that holds the target itself: jals, jalx, jal.
const microAbsolute uint64 = 1<<0x1d | 1<<0x3c | 1<<0x3d
