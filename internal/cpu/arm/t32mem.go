package arm

import "github.com/backsight/backsight/cpu"

// t32Memory is what bit 6 of the first half tells apart.
func t32Memory(w, pc uint32, o *cpu.Insn) {
	if bit(w, 22) {
		t32Dual(w, pc, o)
		return
	}
	t32Multiple(w, o)
}

// t32Multiple is LDM, STM, RFE and SRS (v7 A6.3.5).
func t32Multiple(w uint32, o *cpu.Insn) {
	op, write, load, rn := w>>23&3, bit(w, 21), bit(w, 20), field(w, 16)
	switch {
	case op == 1 || op == 2:
		if op == 1 && load && !write && rn == PC { // clrm of v8.1-M
			clobber(o, cpu.RegSet(w&0xffff))
			return
		}
		multiple(o, load, rn, w&0xffff, op == 2, op == 1, write)
	case load:
		returnFromException(o, rn, op == 0, op == 3, write)
	}
	// srs stores on the stack of a mode that it names.
}

// sg is the secure gateway of v8-M: the first instruction of a function that
// non-secure code may call.
const sg = 0xe97f_e97f

// t32Dual is LDRD and STRD, the exclusives, table branches (v7 A6.3.6).
func t32Dual(w, pc uint32, o *cpu.Insn) {
	p, up, write := bit(w, 24), bit(w, 23), bit(w, 21)
	switch {
	case w == sg:
		o.Flags |= cpu.FlagEntry
	case p || write:
		off := w & 0xff << 2
		if !up {
			off = -off
		}
		access(o, word|bitKind(w, 20), field(w, 12), field(w, 16), int32(off), p, write, (pc+4)&^3)
		pair(o, field(w, 8))
	case up:
		t32Exclusive(w, pc, o)
	case bit(w, 20): // ldrex
		access(o, word|loads, field(w, 12), field(w, 16), int32(w&0xff<<2), true, false, 0)
	default: // strex, and v8-M's tt
		clobberOne(o, field(w, 8))
	}
}

// t32Exclusive is told apart by bits 7:4: table branches, exclusives (4, 5, 7,
// 12–15) and the acquire and release of ARMv8 (8–10).
func t32Exclusive(w, pc uint32, o *cpu.Insn) {
	op, rn, rt := w>>4&15, field(w, 16), field(w, 12)
	k := bitKind(w, 20) | kind(op&3)*half
	switch {
	case op < 2:
		if k.load() {
			tableBranch(o, rn, field(w, 0), uint8(op), pc+4)
		} else {
			unknown(o)
		}
	case op < 4 || op == 6 || op == 11:
		unknown(o)
	case !k.load() && op >= 8 && op < 12:
		access(o, k, rt, rn, 0, true, false, 0)
	case !k.load():
		clobberOne(o, field(w, 0))
	case k.size() == 8:
		access(o, word|loads, rt, rn, 0, true, false, 0)
		pair(o, field(w, 8))
	default:
		access(o, k, rt, rn, 0, true, false, 0)
	}
}

// tableBranch is TBB and TBH: the table mostly lies behind it, with the PC as
// its base.
func tableBranch(o *cpu.Insn, rn, rm cpu.Reg, scale uint8, here uint32) {
	branch(o, here, 1)
	o.Flags |= cpu.FlagTable
	o.Base, o.Index, o.Scale, o.Size = rn, rm, scale, 1<<scale
	if rn == PC {
		o.Base, o.Imm = cpu.NoReg, int64(here)
	}
}

// t32SingleOrSIMD are told apart by bits 24 and 20.
func t32SingleOrSIMD(w, here uint32, o *cpu.Insn) {
	if w>>20&0x11 == 0x10 {
		simdTransfer(w, o)
		return
	}
	t32Single(w, here, o)
}

// t32Single is a load or store of one register (v7 A6.3.7–A6.3.10).
func t32Single(w, here uint32, o *cpu.Insn) {
	rt, rn, size := field(w, 12), field(w, 16), w>>21&3
	k := bitKind(w, 20) | bitKind(w, 24)*signs | kind(size)*half
	switch {
	case size == 3, k&signs != 0 && (size == 2 || !k.load()), rn == PC && !k.load():
		unknown(o)
	case rt == PC && size != 2 && k.load(): // pld, pli
	case rn == PC:
		off := w & 0xfff
		if !bit(w, 23) {
			off = -off
		}
		access(o, k, rt, rn, int32(off), true, false, here)
	case bit(w, 23):
		access(o, k, rt, rn, int32(w&0xfff), true, false, 0)
	case bit(w, 11):
		t32Imm8(w, k, o)
	case w>>6&63 == 0:
		accessIndexed(o, k, rt, rn, field(w, 0), uint8(w>>4&3), 0)
	default:
		unknown(o)
	}
}

// t32Imm8 is a load or store indexed by P, U, W with eight bits.
func t32Imm8(w uint32, k kind, o *cpu.Insn) {
	p, up, write := bit(w, 10), bit(w, 9), bit(w, 8)
	if !p && !write {
		unknown(o)
		return
	}
	if p && up && !write { // ldrt, strt: unprivileged
		access(o, k, field(w, 12), field(w, 16), int32(w&0xff), true, false, 0)
		return
	}
	off := w & 0xff
	if !up {
		off = -off
	}
	access(o, k, field(w, 12), field(w, 16), int32(off), p, write, 0)
}
