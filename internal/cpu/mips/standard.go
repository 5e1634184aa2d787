package mips

import "github.com/backsight/backsight/cpu"

const slot = cpu.FlagDelaySlot

// standardDecoder decodes the standard encoding, of 32 bits.
type standardDecoder struct{ *processor }

// insn decodes the 32-bit encoding by its major opcode (MD00087 for release
// 6, MD00083 before). Opcodes whose meaning release 6 changed are told apart by
// d.r6.
func (d standardDecoder) insn(w word, pc uint64, i *cpu.Insn) {
	if w == 0 {
		i.Flags = cpu.FlagPadding
		return
	}
	switch op := w.op(); op {
	case 0x00:
		d.special(w, i)
	case 0x01:
		d.regImm(w, pc, i)
	case 0x02:
		d.jump(i, w.region(pc), 0, slot)
	case 0x03:
		d.call(i, w.region(pc), 0, slot)
	case 0x04:
		d.branchEqual(i, w, pc, slot)
	case 0x05:
		d.branch(i, w.rs(), w.rt(), w.branch16(pc), slot)
	case 0x06, 0x07:
		if d.r6 && w.rt() != Zero {
			release6Decoder(d).compactZero(w, pc, i)
			return
		}
		d.branch(i, w.rs(), Zero, w.branch16(pc), slot)
	case 0x08, 0x18:
		if d.r6 {
			release6Decoder(d).compactOverflow(w, pc, i)
			return
		}
		d.addImm(i, w.rt(), w.rs(), w.imm(), d.word32If(op == 0x08))
	case 0x09:
		d.addImm(i, w.rt(), w.rs(), w.imm(), d.word32())
	case 0x0a:
		clobber(i, w.rt())
	case 0x0b:
		compareBelow(i, w.rt(), w.rs(), w.imm())
	case 0x0c:
		andImm(i, w.rt(), w.rs(), w.immU())
	case 0x0d:
		d.orImm(i, w.rt(), w.rs(), w.immU())
	case 0x0e:
		clobber(i, w.rt())
	case 0x0f: // lui; release 6 adds a register (aui)
		d.addImm(i, w.rt(), w.rs(), int64(int32(w<<16)), d.word32())
	case 0x10:
		coprocessorDecoder(d).cop0(w, i)
	case 0x11:
		coprocessorDecoder(d).cop1(w, pc, i)
	case 0x12:
		coprocessorDecoder(d).cop2(w, pc, i)
	case 0x13:
		cop1x(w, i)
	case 0x14:
		d.branchEqual(i, w, pc, slot|cpu.FlagLikely)
	case 0x15:
		d.branch(i, w.rs(), w.rt(), w.branch16(pc), slot|cpu.FlagLikely)
	case 0x16, 0x17:
		if d.r6 {
			d.branch(i, w.rs(), w.rt(), w.branch16(pc), 0)
			return
		}
		d.branch(i, w.rs(), Zero, w.branch16(pc), slot|cpu.FlagLikely)
	case 0x19:
		d.addImm(i, w.rt(), w.rs(), w.imm(), 0)
	case 0x1c:
		d.special2(w, i)
	case 0x1d:
		if d.r6 { // daui
			d.addImm(i, w.rt(), w.rs(), int64(int32(w<<16)), 0)
			return
		}
		d.call(i, w.region(pc), 1, slot)
	case 0x1e:
		msa(w, i)
	case 0x1f:
		d.special3(w, i)
	default:
		d.memory(w, pc, i)
	}
}

func (d *processor) word32If(is32 bool) cpu.Flags {
	if is32 {
		return d.word32()
	}
	return 0
}

// branchEqual is beq and beql; comparing a register with itself is b.
func (d standardDecoder) branchEqual(i *cpu.Insn, w word, pc uint64, flags cpu.Flags) {
	if w.rs() == w.rt() {
		d.jump(i, w.branch16(pc), 0, slot)
		return
	}
	d.branch(i, w.rs(), w.rt(), w.branch16(pc), flags)
}

// memory decodes loads and stores and what else has opcodes from 0x1a on.
func (d standardDecoder) memory(w word, pc uint64, i *cpu.Insn) {
	rt, base, imm := w.rt(), w.rs(), w.imm()
	switch w.op() {
	case 0x20:
		load(i, rt, base, imm, 1, cpu.FlagSigned)
	case 0x21:
		load(i, rt, base, imm, 2, cpu.FlagSigned)
	case 0x23, 0x30: // lw, ll
		d.loadWord(i, rt, base, imm)
	case 0x24:
		load(i, rt, base, imm, 1, 0)
	case 0x25:
		load(i, rt, base, imm, 2, 0)
	case 0x27:
		load(i, rt, base, imm, 4, 0)
	case 0x34, 0x37: // lld, ld
		load(i, rt, base, imm, 8, 0)
	case 0x1a, 0x1b, 0x22, 0x26, // ldl, ldr, lwl, lwr
		0x38, 0x3c: // sc, scd: the outcome
		clobber(i, rt)
	case 0x28:
		store(i, rt, base, imm, 1)
	case 0x29:
		store(i, rt, base, imm, 2)
	case 0x2b:
		store(i, rt, base, imm, 4)
	case 0x3f:
		store(i, rt, base, imm, 8)
	case 0x2a, 0x2e: // swl, swr
		storePart(i, base, imm, 4)
	case 0x2c, 0x2d: // sdl, sdr
		storePart(i, base, imm, 8)
	case 0x39: // swc1
		store(i, cpu.NoReg, base, imm, 4)
	case 0x3d: // sdc1
		store(i, cpu.NoReg, base, imm, 8)
	case 0x2f, 0x31, 0x33, 0x35: // cache, lwc1, pref, ldc1
	case 0x32, 0x36, 0x3a, 0x3e:
		d.coprocessor2Memory(w, pc, i)
	case 0x3b:
		release6Decoder(d).pcRelative(w, pc, i)
	default:
		unknown(i)
	}
}

// coprocessor2Memory decodes the four opcodes that were lwc2, ldc2, swc2 and
// sdc2 and that release 6, Cavium and Loongson each gave another meaning.
func (d standardDecoder) coprocessor2Memory(w word, pc uint64, i *cpu.Insn) {
	switch {
	case d.r6:
		release6Decoder(d).compactFar(w, pc, i)
	case d.loongson:
		coprocessorDecoder(d).loongsonMemory(w, i)
	default: // bbit0, bbit032, bbit1, bbit132
		d.branch(i, w.rs(), cpu.NoReg, w.branch16(pc), slot)
	}
}

// regImm decodes opcode 1 by the rt field.
func (d standardDecoder) regImm(w word, pc uint64, i *cpu.Insn) {
	target := w.branch16(pc)
	switch rt := w.rt(); rt {
	case 0x00, 0x02: // bltz, bltzl
		d.branch(i, w.rs(), Zero, target, slot|likely(rt))
	case 0x01, 0x03: // bgez, bgezl
		if w.rs() == Zero {
			d.jump(i, target, 0, slot)
			return
		}
		d.branch(i, w.rs(), Zero, target, slot|likely(rt))
	case 0x06: // dahi
		if d.r6 {
			d.addImm(i, w.rs(), w.rs(), w.imm()<<32, 0)
		}
	case 0x1e: // dati
		if d.r6 {
			d.addImm(i, w.rs(), w.rs(), w.imm()<<48, 0)
		}
	case 0x10, 0x12: // bltzal, bltzall
		if w.rs() == Zero { // nal: never branches, links
			target = pc + 8
			d.call(i, target, 0, slot|cpu.FlagGetPC)
			return
		}
		d.call(i, target, 0, slot|cpu.FlagConditional|likely(rt))
	case 0x11, 0x13: // bgezal, bgezall
		d.branchAndLink(w, pc, i)
	case 0x1c, 0x1d: // bposge32, bposge64
		d.branch(i, cpu.NoReg, cpu.NoReg, target, slot)
	case 0x18: // bposge32c
		d.branch(i, cpu.NoReg, cpu.NoReg, target, 0)
	case 0x17: // sigrie
		i.Op = cpu.OpTrap
	case 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0e, 0x1f: // tgei …, synci
	default:
		unknown(i)
	}
}

// likely tells from rt whether a branch of opcode 1 annuls its slot.
func likely(rt cpu.Reg) cpu.Flags {
	if rt&2 != 0 {
		return cpu.FlagLikely
	}
	return 0
}

// branchAndLink is bgezal and bgezall; with register zero they are bal.
func (d standardDecoder) branchAndLink(w word, pc uint64, i *cpu.Insn) {
	if w.rs() != Zero {
		d.call(i, w.branch16(pc), 0, slot|cpu.FlagConditional|likely(w.rt()))
		return
	}
	d.call(i, w.branch16(pc), 0, slot)
}
