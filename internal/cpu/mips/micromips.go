package mips

import (
	"encoding/binary"
	"math/bits"

	"github.com/backsight/backsight/cpu"
)

// micro is a 32-bit microMIPS instruction (MD00582; release 6: MD00594), its
// first halfword on top. rt and rs have traded places with the standard encoding.
type micro uint32

func (w micro) op() uint32    { return uint32(w >> 26) }
func (w micro) rt() cpu.Reg   { return cpu.Reg(w >> 21 & 31) }
func (w micro) rs() cpu.Reg   { return cpu.Reg(w >> 16 & 31) }
func (w micro) rd() cpu.Reg   { return cpu.Reg(w >> 11 & 31) }
func (w micro) imm() int64    { return int64(int16(w)) }
func (w micro) immU() int64   { return int64(uint16(w)) }
func (w micro) upper() int64  { return int64(int32(w << 16)) }
func (w micro) imm12() int64  { return signed(uint32(w), 12) }
func (w micro) minor() uint32 { return uint32(w & 63) }

// group is bits 9–6, which divide most pools further.
func (w micro) group() uint32 { return uint32(w >> 6 & 15) }

// region is the target of j and jal, which counts halfwords.
func (w micro) region(pc uint64) uint64 { return (pc+4)&^0x07ff_ffff | uint64(w&0x03ff_ffff)<<1 }

// relative is a branch target n bits wide; offsets count halfwords.
func (w micro) relative(pc uint64, n uint) uint64 {
	return pc + 4 + uint64(signed(uint32(w), n)<<1)
}

// size is 2 where the low three bits of the major opcode are 1, 2 or 3: such
// instructions have only the first halfword.
func (w micro) size() int { return 4 - 0b1110>>(w>>26&7)&1<<1 }

// microDecoder decodes microMIPS: 32-bit instructions by itself and by microPools, 16-bit
// instructions by micro16Decoder.
type microDecoder struct{ *processor }

// decode is Decode for microMIPS code.
func (d microDecoder) decode(code []byte, pc uint64, out []cpu.Insn) int {
	at := 0
	for n := range out {
		w := d.halves(code, at)
		size := w.size()
		if at+size > len(code) {
			return n
		}
		i := &out[n]
		begin(i, uint8(size))
		d.insn(w, pc+uint64(at), i)
		at += size
	}
	return len(out)
}

// halves reads two halfwords, the first into the upper half; what code does not have
// is 0.
func (o byteOrder) halves(code []byte, at int) micro {
	switch {
	case at+2 > len(code):
		return 0
	case at+4 > len(code):
		return micro(o.half(code[at:])) << 16
	case o.big:
		return micro(binary.BigEndian.Uint32(code[at:]))
	}
	return micro(bits.RotateLeft32(binary.LittleEndian.Uint32(code[at:]), 16))
}

// condition is a conditional branch, which stays in the encoding: mode 1.
func (d microDecoder) condition(i *cpu.Insn, a, b cpu.Reg, target uint64, flags cpu.Flags) {
	d.branch(i, a, b, target, flags)
	i.TargetMode = 1
}

// link is a call within the encoding.
func (d microDecoder) link(i *cpu.Insn, target uint64, flags cpu.Flags) {
	d.call(i, target, 1, flags)
}

// ofRelease6 are the major opcodes that release 6 changed or added: transfers of control, addi
// (there aui) and the PC-relative addiu.
const ofRelease6 uint64 = 1<<0x04 | 1<<0x10 | 1<<0x1d | 1<<0x1e | 1<<0x1f | 1<<0x20 | 1<<0x25 | 1<<0x28 |
	1<<0x2d | 1<<0x30 | 1<<0x35 | 1<<0x38 | 1<<0x3c | 1<<0x3d

// insn decodes an instruction of either size.
func (d microDecoder) insn(w micro, pc uint64, i *cpu.Insn) {
	switch {
	case w.size() == 2:
		micro16Decoder(d).insn(uint16(w>>16), pc, i)
	case ofRelease6>>w.op()&1 == 0:
		d.common(w, i)
	case d.r6:
		d.release6(w, pc, i)
	default:
		d.before6(w, pc, i)
	}
}

// common decodes the 32-bit instructions that all releases have, by the major opcode.
func (d microDecoder) common(w micro, i *cpu.Insn) {
	switch w.op() {
	case 0x00:
		microPools(d).pool32A(w, i)
	case 0x16:
		microPools(d).pool32S(w, i)
	case 0x08:
		microPools(d).pool32B(w, i)
	case 0x18:
		microPools(d).pool32C(w, i)
	case 0x15:
		microPools(d).pool32F(w, i)
	case 0x0c:
		d.addImm(i, w.rt(), w.rs(), w.imm(), d.word32())
	case 0x17: // daddiu
		d.addImm(i, w.rt(), w.rs(), w.imm(), 0)
	case 0x14:
		d.orImm(i, w.rt(), w.rs(), w.immU())
	case 0x34:
		andImm(i, w.rt(), w.rs(), w.immU())
	case 0x1c, 0x24: // xori, slti
		clobber(i, w.rt())
	case 0x2c:
		compareBelow(i, w.rt(), w.rs(), w.imm())
	case 0x05:
		load(i, w.rt(), w.rs(), w.imm(), 1, 0)
	case 0x07:
		load(i, w.rt(), w.rs(), w.imm(), 1, cpu.FlagSigned)
	case 0x0d:
		load(i, w.rt(), w.rs(), w.imm(), 2, 0)
	case 0x0f:
		load(i, w.rt(), w.rs(), w.imm(), 2, cpu.FlagSigned)
	case 0x3f:
		d.loadWord(i, w.rt(), w.rs(), w.imm())
	case 0x37:
		load(i, w.rt(), w.rs(), w.imm(), 8, 0)
	case 0x06:
		store(i, w.rt(), w.rs(), w.imm(), 1)
	case 0x0e:
		store(i, w.rt(), w.rs(), w.imm(), 2)
	case 0x3e:
		store(i, w.rt(), w.rs(), w.imm(), 4)
	case 0x36:
		store(i, w.rt(), w.rs(), w.imm(), 8)
	case 0x26: // swc1
		store(i, cpu.NoReg, w.rs(), w.imm(), 4)
	case 0x2e: // sdc1
		store(i, cpu.NoReg, w.rs(), w.imm(), 8)
	case 0x27, 0x2f: // lwc1, ldc1
	default:
		unknown(i)
	}
}

// before6 decodes the major opcodes that release 6 changed, as releases before have them.
func (d microDecoder) before6(w micro, pc uint64, i *cpu.Insn) {
	switch w.op() {
	case 0x04: // addi
		d.addImm(i, w.rt(), w.rs(), w.imm(), d.word32())
	case 0x10:
		d.pool32I(w, pc, i)
	case 0x1d, 0x3d: // jals, jal: the slot has 16 or 32 bits
		d.link(i, w.region(pc), slot)
	case 0x1e: // addiupc
		d.address(i, reg3(uint16(w>>23)), pc&^3+uint64(signed(uint32(w), 23)<<2))
	case 0x20: // MSA: bz.v, bnz.v, bz.b … bnz.d
		d.condition(i, cpu.NoReg, cpu.NoReg, w.relative(pc, 16), slot)
	case 0x25:
		if w.rt() == w.rs() {
			d.jump(i, w.relative(pc, 16), 1, slot)
			return
		}
		d.condition(i, w.rs(), w.rt(), w.relative(pc, 16), slot)
	case 0x2d:
		d.condition(i, w.rs(), w.rt(), w.relative(pc, 16), slot)
	case 0x35:
		d.jump(i, w.region(pc), 1, slot)
	case 0x3c: // jalx counts words
		d.call(i, (pc+4)&^0x0fff_ffff|uint64(w&0x03ff_ffff)<<2, 0, slot)
	default:
		unknown(i)
	}
}

// pool32I decodes branches that compare with zero, lui, and traps, by the rt
// field.
func (d microDecoder) pool32I(w micro, pc uint64, i *cpu.Insn) {
	target := w.relative(pc, 16)
	switch w.rt() {
	case 0x00, 0x04, 0x06: // bltz, blez, bgtz
		d.condition(i, w.rs(), Zero, target, slot)
	case 0x02: // bgez
		if w.rs() == Zero {
			d.jump(i, target, 1, slot)
			return
		}
		d.condition(i, w.rs(), Zero, target, slot)
	case 0x05, 0x07: // bnezc, beqzc
		d.condition(i, w.rs(), Zero, target, 0)
	case 0x01, 0x11: // bltzal, bltzals: with register zero they only link
		d.branchAndLink(w, pc, i, w.rs() == Zero)
	case 0x03, 0x13: // bgezal, bgezals; with register zero bal, bals
		d.branchAndLink(w, pc, i, false)
	case 0x0d:
		d.constant(i, w.rs(), w.upper())
	case 0x14, 0x15, 0x1a, 0x1b, 0x1c, 0x1d: // bc2f, bc2t, bposge64, bposge32, bc1f, bc1t
		d.condition(i, cpu.NoReg, cpu.NoReg, target, slot)
	case 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0e, 0x10, 0x12: // tlti … teqi, synci
	default:
		unknown(i)
	}
}

// branchAndLink is a branch and link; never says that it does not branch. The short
// forms (bit 4 of rt) have a 16-bit slot.
func (d microDecoder) branchAndLink(w micro, pc uint64, i *cpu.Insn, never bool) {
	next := pc + 8
	if w.rt()&0x10 != 0 {
		next = pc + 6
	}
	target := w.relative(pc, 16)
	switch {
	case never:
		d.link(i, next, slot|cpu.FlagGetPC)
	case w.rs() == Zero:
		d.link(i, target, slot)
	default:
		d.link(i, target, slot|cpu.FlagConditional)
	}
}
