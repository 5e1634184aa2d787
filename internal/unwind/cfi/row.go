package cfi

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
)

// slots maps DWARF register numbers to the columns of a row: the ABI's own
// registers, and one column for a return address that is a pseudo register
// (in signal frames; GCC's DWARF_ALT_FRAME_RETURN_COLUMN: MIPS 66, RISC-V 64).
type slots [160]cpu.Reg

const (
	pseudoColumn = cpu.MaxRegs
	columns      = cpu.MaxRegs + 1
)

func newSlots(arch *cpu.Arch) *slots {
	s := new(slots)
	for n := range s {
		s[n] = cpu.NoReg
	}
	for i := range arch.Regs {
		if n := arch.Regs[i].DWARF; n >= 0 && n < len(s) && (s[n] == cpu.NoReg || n == i) { // as RegByDWARF has it
			s[n] = cpu.Reg(i)
		}
	}
	return s
}

// swapped are the slots of a section that numbers the stack pointer and the frame pointer the
// other way round: __eh_frame of Darwin's i386 (4 is EBP, 5 is ESP).
func (s *slots) swapped(arch *cpu.Arch) *slots {
	out := *s
	sp, fp := arch.Regs[arch.SP].DWARF, arch.Regs[arch.FP].DWARF
	out[sp], out[fp] = out[fp], out[sp]
	return &out
}

// reg returns the register with a DWARF number, NoReg for those that the ABI's
// descriptor lacks (floating point, vectors). No ABI numbers general registers
// past the table.
func (s *slots) reg(n uint64) cpu.Reg {
	if n < uint64(len(s)) {
		return s[n]
	}
	return cpu.NoReg
}

// cell is the rule of one column. off is the operand or, for the Expression
// kinds, where the expression lies in the section: offset<<32 | length.
type cell struct {
	kind stackwalk.Kind
	base cpu.Reg
	off  int64
}

// row is one row of the table that DWARF 5 §6.4.1 describes.
type row struct {
	cfa     cell // register plus offset
	cfaExpr cell // valid with byExpr, and then cfa is not
	byExpr  bool
	signed  bool // AArch64: RA_SIGN_STATE
	used    uint64
	cells   [columns]cell // those in used are valid
}

func atCFA(off int64) cell { return cell{kind: stackwalk.AtCFA, base: cpu.NoReg, off: off} }

func cfaPlus(off int64) cell { return cell{kind: stackwalk.CFAPlus, base: cpu.NoReg, off: off} }

func (r *row) set(column cpu.Reg, c cell) {
	if column < columns {
		r.cells[column] = c
		r.used |= 1 << column
	}
}

// inherit gives a column what it has in o.
func (r *row) inherit(column cpu.Reg, o *row) {
	if column >= columns {
		return
	}
	bit := uint64(1) << column
	r.used = r.used&^bit | o.used&bit
	r.cells[column] = o.cells[column]
}

// copyFrom makes r like o.
func (r *row) copyFrom(o *row) {
	r.cfa, r.cfaExpr, r.byExpr, r.signed, r.used = o.cfa, o.cfaExpr, o.byExpr, o.signed, o.used
	for set := cpu.RegSet(o.used); set != 0; set &= set - 1 {
		r.cells[set.First()] = o.cells[set.First()]
	}
}

func (r *row) get(column cpu.Reg) cell {
	if column < columns && r.used>>column&1 != 0 {
		return r.cells[column]
	}
	return cell{base: cpu.NoReg}
}

// fill turns a cell into an unwind rule, which is Unspecified. A value that was
// moved to a register which is not tracked stays RegPlus of NoReg: not there.
func (s *section) fill(rr *stackwalk.RegRule, c *cell) {
	rr.Kind, rr.Base, rr.Off = c.kind, c.base, c.off
	switch c.kind {
	case stackwalk.Expression, stackwalk.ValExpression:
		off := uint64(c.off) >> 32
		rr.Expr = s.data[off : off+uint64(c.off)&0xffff_ffff]
		rr.Off = 0
	}
}

// fill writes the row as a Rule. It reports false when the row does not say
// where the CFA or the return address is.
//
// The return address is the value of the CIE's column. Where that is the link
// register, its rule is the PC's and not the caller's LR, which a call destroys;
// in a signal frame each is what its own rule says. Where it is another register,
// the call did not touch LR: RISC-V's __riscv_save_N are called through t0 by
// prologues that have yet to save ra.
func (m *machine) fill(out *stackwalk.Rule) bool {
	r := &m.row
	out.Reset()
	if r.byExpr {
		m.s.fill(&out.CFA, &r.cfaExpr)
	} else {
		m.s.fill(&out.CFA, &r.cfa)
	}
	if m.cie.signal {
		out.Flags |= stackwalk.SignalFrame
	}
	if r.signed {
		out.Flags |= stackwalk.SignedRA
	}
	for set := cpu.RegSet(r.used &^ (1 << pseudoColumn)); set != 0; set = set.Without(set.First()) {
		reg := set.First()
		if reg != m.table.arch.PC && (m.cie.signal || reg != m.ra) {
			m.s.fill(out.Next(reg), &r.cells[reg])
		}
	}
	if lr := m.table.arch.LR; lr != cpu.NoReg && m.ra != lr && m.ra != pseudoColumn && r.get(lr).kind == stackwalk.Unspecified {
		out.Add(stackwalk.RegRule{Kind: stackwalk.SameValue, Reg: lr, Base: lr})
	}
	if !m.fillRA(out) {
		return false
	}
	lift(out, m.table.arch)
	return r.byExpr || r.cfa.base != cpu.NoReg || out.RA.Kind == stackwalk.Undefined
}

func (m *machine) fillRA(out *stackwalk.Rule) bool {
	c := m.row.get(m.ra)
	if c.kind != stackwalk.Unspecified && c.kind != stackwalk.SameValue {
		m.s.fill(&out.RA, &c)
		return true
	}
	if m.ra == pseudoColumn || m.ra == m.table.arch.PC {
		return false
	}
	out.RA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: m.ra}
	return true
}
