package mips

import "github.com/backsight/backsight/cpu"

// Release 6 packs compact branches, which have no delay slot, into opcodes by
// the relation of the register numbers (MD00087, table A.16 on POP06–POP76).

// release6Decoder decodes those, and the PC-relative opcode.
type release6Decoder struct{ *processor }

// compactZero decodes POP06 and POP07 with rt ≠ 0: blezalc, bgezalc, bgtzalc and
// bltzalc (rs 0 or rt), else bgeuc and bltuc.
func (d release6Decoder) compactZero(w word, pc uint64, i *cpu.Insn) {
	if w.rs() == Zero || w.rs() == w.rt() {
		d.call(i, w.branch16(pc), 0, cpu.FlagConditional)
		return
	}
	d.branch(i, w.rs(), w.rt(), w.branch16(pc), 0)
}

// compactOverflow decodes POP10 and POP30: bovc, bnvc (rs ≥ rt), beqzalc,
// bnezalc (rs 0), beqc, bnec.
func (d release6Decoder) compactOverflow(w word, pc uint64, i *cpu.Insn) {
	if w.rs() == Zero && w.rt() != Zero {
		d.call(i, w.branch16(pc), 0, cpu.FlagConditional)
		return
	}
	d.branch(i, w.rs(), w.rt(), w.branch16(pc), 0)
}

// compactFar decodes bc, balc, POP66 (beqzc, jic) and POP76 (bnezc, jialc). The
// offset that jic and jialc add to the register stands in Imm.
func (d release6Decoder) compactFar(w word, pc uint64, i *cpu.Insn) {
	op := w.op()
	switch {
	case op == 0x32:
		d.jump(i, w.branch26(pc), 0, 0)
	case op == 0x3a:
		d.call(i, w.branch26(pc), 0, 0)
	case w.rs() != Zero:
		d.branch(i, w.rs(), Zero, w.branch21(pc), 0)
	case op == 0x36:
		jumpCompact(i, w.rt(), w.imm())
	default:
		callRegister(i, RA, w.rt(), 0)
		i.Imm = w.imm()
	}
}

// jumpCompact is jic: jic ra,0 is the assembler's jrc ra.
func jumpCompact(i *cpu.Insn, r cpu.Reg, offset int64) {
	jumpRegister(i, r, 0)
	if offset != 0 {
		i.Op, i.Imm = cpu.OpJump, offset
	}
}

// pcRelative decodes PCREL: addiupc, lwpc, lwupc, ldpc, auipc and aluipc.
func (d release6Decoder) pcRelative(w word, pc uint64, i *cpu.Insn) {
	if !d.r6 {
		unknown(i)
		return
	}
	near := pc + uint64(signed(uint32(w), 19)<<2)
	switch w.rt() >> 3 {
	case 0:
		d.address(i, w.rs(), near)
		return
	case 1:
		d.loadLiteral(i, w.rs(), near, 4, d.signedWord())
		return
	case 2:
		d.loadLiteral(i, w.rs(), near, 4, 0)
		return
	}
	far := pc + uint64(int64(int32(w<<16)))
	switch w.rt() {
	case 0x18, 0x19, 0x1a, 0x1b:
		d.loadLiteral(i, w.rs(), pc&^7+uint64(signed(uint32(w), 18)<<3), 8, 0)
	case 0x1e:
		d.address(i, w.rs(), far)
	case 0x1f:
		d.address(i, w.rs(), far&^0xffff)
	default:
		unknown(i)
	}
}
