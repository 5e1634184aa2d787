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

func (d *decoder) decodeMicro(code []byte, pc uint64, out []cpu.Insn) int {
	at := 0
	for n := range out {
		w := d.halves(code, at)
		size := w.size()
		if at+size > len(code) {
			return n
		}
		i := &out[n]
		begin(i, uint8(size))
		d.microInsn(w, pc+uint64(at), i)
		at += size
	}
	return len(out)
}

// halves reads two halfwords, the first into the upper half; what code does not have
// is 0.
func (d *decoder) halves(code []byte, at int) micro {
	switch {
	case at+2 > len(code):
		return 0
	case at+4 > len(code):
		return micro(d.half(code[at:])) << 16
	case d.big:
		return micro(binary.BigEndian.Uint32(code[at:]))
	}
	return micro(bits.RotateLeft32(binary.LittleEndian.Uint32(code[at:]), 16))
}

// microBranch and microCall stay in the encoding: mode 1.
func (d *decoder) microBranch(i *cpu.Insn, a, b cpu.Reg, target uint64, flags cpu.Flags) {
	d.branch(i, a, b, target, flags)
	i.TargetMode = 1
}

func (d *decoder) microCall(i *cpu.Insn, target uint64, flags cpu.Flags) {
	d.call(i, target, 1, flags)
}

// changedInR6 are the major opcodes that mean something else in release 6: transfers
// of control, and the PC-relative addiu.
const changedInR6 uint64 = 1<<0x04 | 1<<0x10 | 1<<0x1d | 1<<0x1e | 1<<0x20 | 1<<0x25 | 1<<0x2d | 1<<0x35 | 1<<0x3c | 1<<0x3d

// microInsn decodes by the major opcode, which tells 16-bit instructions as well.
func (d *decoder) microInsn(w micro, pc uint64, i *cpu.Insn) {
	if d.r6 && changedInR6>>w.op()&1 != 0 {
		d.micro32R6(w, pc, i)
		return
	}
	h := uint16(w >> 16)
	high, mid := reg3(h>>7), reg3(h>>4) // the usual register fields of 16-bit ones
	switch w.op() {
	case 0x00:
		d.pool32A(w, i)
	case 0x16:
		d.pool32S(w, i)
	case 0x08:
		d.pool32B(w, i)
	case 0x18:
		d.pool32C(w, i)
	case 0x15:
		d.pool32F(w, i)
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
	case 0x04: // addi
		d.addImm(i, w.rt(), w.rs(), w.imm(), d.word32())
	case 0x10:
		d.pool32I(w, pc, i)
	case 0x1d, 0x3d: // jals, jal: the slot has 16 or 32 bits
		d.microCall(i, w.region(pc), slot)
	case 0x1e: // addiupc
		d.address(i, high, pc&^3+uint64(signed(uint32(w), 23)<<2))
	case 0x20: // MSA: bz.v, bnz.v, bz.b … bnz.d
		d.microBranch(i, cpu.NoReg, cpu.NoReg, w.relative(pc, 16), slot)
	case 0x25:
		if w.rt() == w.rs() {
			d.jump(i, w.relative(pc, 16), 1, slot)
			return
		}
		d.microBranch(i, w.rs(), w.rt(), w.relative(pc, 16), slot)
	case 0x2d:
		d.microBranch(i, w.rs(), w.rt(), w.relative(pc, 16), slot)
	case 0x35:
		d.jump(i, w.region(pc), 1, slot)
	case 0x3c: // jalx counts words
		d.call(i, (pc+4)&^0x0fff_ffff|uint64(w&0x03ff_ffff)<<2, 0, slot)
	case 0x01:
		d.addSub16(h, i)
	case 0x02: // lbu16: 15 stands for −1
		load(i, high, mid, int64(h&15+1)&15-1, 1, 0)
	case 0x0a:
		load(i, high, mid, int64(h&15)<<1, 2, 0)
	case 0x1a:
		d.loadWord(i, high, mid, int64(h&15)<<2)
	case 0x12: // lwsp
		d.loadWord(i, cpu.Reg(h>>5&31), SP, int64(h&31)<<2)
	case 0x19: // lwgp
		d.loadWord(i, high, GP, signed(uint32(h), 7)<<2)
	case 0x22:
		store(i, storeReg(h), mid, int64(h&15), 1)
	case 0x2a:
		store(i, storeReg(h), mid, int64(h&15)<<1, 2)
	case 0x3a:
		store(i, storeReg(h), mid, int64(h&15)<<2, 4)
	case 0x32: // swsp
		store(i, cpu.Reg(h>>5&31), SP, int64(h&31)<<2, 4)
	case 0x03: // move
		d.move(i, cpu.Reg(h>>5&31), cpu.Reg(h&31))
		if h == 0x0c00 {
			i.Flags = cpu.FlagPadding
		}
	case 0x09: // sll, srl; 0 stands for 8
		if h&1 != 0 {
			clobber(i, high)
			return
		}
		shiftLeft(i, high, mid, (uint32(h>>1)+7)&7+1, d.word32())
	case 0x0b:
		andImm(i, high, mid, andImmediate(h&15))
	case 0x11:
		if d.r6 {
			d.pool16CR6(h, i)
			return
		}
		d.pool16C(h, i)
	case 0x13:
		d.pool16D(h, i)
	case 0x1b:
		d.pool16E(h, i)
	case 0x21: // movep
		movePair(h, i)
	case 0x23, 0x2b: // beqz, bnez
		d.microBranch(i, high, Zero, pc+2+uint64(signed(uint32(h), 7)<<1), d.microSlot())
	case 0x33: // b
		d.jump(i, pc+2+uint64(signed(uint32(h), 10)<<1), 1, d.microSlot())
	case 0x3b: // li: 127 stands for −1
		d.constant(i, high, int64(h&127+1)&127-1)
	default:
		if d.r6 {
			d.micro32R6(w, pc, i)
			return
		}
		unknown(i)
	}
}

// pool32I decodes branches that compare with zero, lui, and traps, by the rt
// field.
func (d *decoder) pool32I(w micro, pc uint64, i *cpu.Insn) {
	target := w.relative(pc, 16)
	switch w.rt() {
	case 0x00, 0x04, 0x06: // bltz, blez, bgtz
		d.microBranch(i, w.rs(), Zero, target, slot)
	case 0x02: // bgez
		if w.rs() == Zero {
			d.jump(i, target, 1, slot)
			return
		}
		d.microBranch(i, w.rs(), Zero, target, slot)
	case 0x05, 0x07: // bnezc, beqzc
		d.microBranch(i, w.rs(), Zero, target, 0)
	case 0x01, 0x11: // bltzal, bltzals: with register zero they only link
		d.microLink(w, pc, i, w.rs() == Zero)
	case 0x03, 0x13: // bgezal, bgezals; with register zero bal, bals
		d.microLink(w, pc, i, false)
	case 0x0d:
		d.constant(i, w.rs(), w.upper())
	case 0x14, 0x15, 0x1a, 0x1b, 0x1c, 0x1d: // bc2f, bc2t, bposge64, bposge32, bc1f, bc1t
		d.microBranch(i, cpu.NoReg, cpu.NoReg, target, slot)
	case 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0e, 0x10, 0x12: // tlti … teqi, synci
	default:
		unknown(i)
	}
}

// microLink is a branch and link; never says that it does not branch. The short
// forms (bit 4 of rt) have a 16-bit slot.
func (d *decoder) microLink(w micro, pc uint64, i *cpu.Insn, never bool) {
	next := pc + 8
	if w.rt()&0x10 != 0 {
		next = pc + 6
	}
	target := w.relative(pc, 16)
	switch {
	case never || w.rs() == Zero && target == next:
		d.microCall(i, next, slot|cpu.FlagGetPC)
	case w.rs() == Zero:
		d.microCall(i, target, slot)
	default:
		d.microCall(i, target, slot|cpu.FlagConditional)
	}
}
