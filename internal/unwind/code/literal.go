package code

import "github.com/backsight/backsight/cpu"

// Literals are words among the code that instructions read relative to the PC.
// What they hold is an address, or an offset to which the code adds the PC:
//
//	ldr r3, .L1        ldr r3, .L1
//	ldr r0, [r3]       add r3, pc       .L1: .word table-(.LPIC0+4)
//
// Offsets within a library or a position-independent program look like addresses
// of its text.

// isLiteral tells whether an instruction reads a literal.
func isLiteral(in *cpu.Insn) bool {
	return in.Op == cpu.OpLoad && in.Base == cpu.NoReg && in.Index == cpu.NoReg
}

// literal notes a load whose value is known. Whether that is a pointer shows later.
func (w *traversal) literal(in *cpu.Insn) {
	if w.an.img.Code(uint64(in.Imm)) != nil {
		if w.words == nil {
			w.words = newMarks(w.an)
		}
		w.words.add(uint64(in.Imm)&^3, 0)
	}
	w.pending = w.pending.With(in.Dst)
}

// spend looks at an instruction for what becomes of literals: those that it adds to
// something are offsets, those that it overwrites were addresses.
func (w *traversal) spend(in *cpu.Insn) {
	switch in.Op {
	case cpu.OpAdd:
		w.pending = w.pending.Without(in.Src2)
		fallthrough
	case cpu.OpAddImm:
		w.pending = w.pending.Without(in.Src)
	case cpu.OpCall:
		w.flush(w.pending)
		return
	}
	w.flush(w.pending & in.List)
	if in.Dst < cpu.MaxRegs && w.pending.Has(in.Dst) {
		w.flush(cpu.SetOf(in.Dst))
	}
}

// flush takes the literals in these registers for addresses.
func (w *traversal) flush(set cpu.RegSet) {
	w.pending &^= set
	for ; set != 0; set = set.Without(set.First()) {
		if v := w.consts[set.First()]; v.kind == konst && v.off != 0 {
			w.pointer(uint64(v.off) & w.an.arch.AddrMask())
		}
	}
}

// skipData returns the first address from pc on that is neither filler between
// functions nor data that the function is known to read.
func (f *function) skipData(pc uint64, mode cpu.Mode) uint64 {
	for {
		next := pc + f.data[pc]
		next += -next & (f.arch.InsnAlign - 1)
		if next == pc {
			next = f.an.skipOne(pc, mode)
		}
		if next == pc {
			return pc
		}
		pc = next
	}
}

// meetsData marks calls behind which data stands as ones that never return.
func (f *function) meetsData() {
	for at := range f.data {
		if b, _ := f.at(at); b != nil && b.via == edgeCall && !f.dead[b.afterCall] {
			f.dead[b.afterCall], f.again = true, true
		}
	}
}
