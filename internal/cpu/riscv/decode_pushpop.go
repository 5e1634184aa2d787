package riscv

import "github.com/backsight/backsight/cpu"

// pushPop decodes Zcmp and Zcmt, which lie in the encodings of c.fsdsp
// ("Zc*" chapter, sections "cm.push" to "cm.jalt").
func (d compressedDecoder) pushPop(h uint32, in *cpu.Insn) {
	switch h >> 8 & 0x1f {
	case 0x18: // cm.push
		d.saved(h, true, in)
	case 0x1a: // cm.pop
		d.saved(h, false, in)
	case 0x1c, 0x1e: // cm.popretz, cm.popret
		d.saved(h, false, in)
		if in.Op == cpu.OpLoadMulti {
			in.Flags |= cpu.FlagReturn
		}
	case 0x0c, 0x0d, 0x0e, 0x0f:
		movePair(h, in)
	case 0x00, 0x01, 0x02, 0x03:
		tableJump(h, in)
	default:
		unknown(in, cpu.NoReg)
	}
}

// saved fills in the registers and the frame of a push or pop. The registers
// lie below the frame's upper end (the CFA), ra lowest:
//
//	cm.push {ra, s0-s2}, -32      SP-32 … SP-16: locals, then ra s0 s1 s2, then SP
//
// The area of registers is rounded up to 16 bytes, plus 0..3 times 16.
func (d compressedDecoder) saved(h uint32, push bool, in *cpu.Insn) {
	list, ok := registerList(h >> 4 & 0xf)
	if !ok {
		unknown(in, cpu.NoReg)
		return
	}
	area := int64(list.Len()) * d.wordSize()
	frame := (area+15)&^15 + int64(h>>2&3)*16
	in.Base, in.List, in.Size = SP, list, uint8(d.wordSize())
	in.Flags = cpu.FlagFrameSetup
	if push {
		in.Op, in.Imm, in.WB = cpu.OpStoreMulti, -area, int32(-frame)
	} else {
		in.Op, in.Imm, in.WB = cpu.OpLoadMulti, frame-area, int32(frame)
	}
}

// registerList is the rlist field: 4 is ra alone, each further one adds the
// next s register, the last one two (there is no list without s11 but with
// s10). Below 4 is reserved.
func registerList(rlist uint32) (cpu.RegSet, bool) {
	if rlist < 4 {
		return 0, false
	}
	list := cpu.SetOf(RA)
	count := rlist - 4
	if rlist == 15 {
		count = 12
	}
	for i := range count {
		list = list.With(sReg(i))
	}
	return list, true
}

// sReg is register sN.
func sReg(n uint32) cpu.Reg {
	if n < 2 {
		return S0 + cpu.Reg(n)
	}
	return S2 + cpu.Reg(n-2)
}

// movePair is cm.mvsa01 (two s registers from a0, a1) and cm.mva01s (back).
func movePair(h uint32, in *cpu.Insn) {
	switch h >> 5 & 3 {
	case 1:
		in.Op, in.List = cpu.OpClobber, cpu.SetOf(sReg(h>>7&7), sReg(h>>2&7))
	case 3:
		in.Op, in.List = cpu.OpClobber, cpu.SetOf(A0, A0+1)
	default:
		unknown(in, cpu.NoReg)
	}
}

// tableJump is cm.jt and, from index 32 on, cm.jalt: through a table whose base
// is the jvt CSR. No capture has that CSR, so the table's address is given as
// one where nothing can be read.
func tableJump(h uint32, in *cpu.Insn) {
	in.Op, in.Flags, in.Imm = cpu.OpJump, cpu.FlagMemory, -1
	if h>>2&0xff >= 32 {
		in.Op, in.Dst = cpu.OpCall, RA
	}
}
