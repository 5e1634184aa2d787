package cfi

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// instruction executes an instruction whose opcode holds no operand.
func (m *machine) instruction(op uint8) {
	r := &m.r
	switch op {
	case cfaNop:
	case cfaSetLoc:
		m.setLoc()
	case cfaAdvanceLoc1:
		m.advance(uint64(r.U8()))
	case cfaAdvanceLoc2:
		m.advance(uint64(r.U16()))
	case cfaAdvanceLoc4:
		m.advance(uint64(r.U32()))
	case cfaMIPSAdvanceLoc8:
		m.advance(r.U64())
	case cfaRestoreExtended:
		m.restore(r.ULEB())
	case cfaUndefined:
		m.row.set(m.column(r.ULEB()), cell{kind: stackwalk.Undefined, base: cpu.NoReg})
	case cfaSameValue:
		c := m.column(r.ULEB())
		m.row.set(c, cell{kind: stackwalk.SameValue, base: c})
	case cfaRegister:
		c := m.column(r.ULEB())
		m.row.set(c, cell{kind: stackwalk.RegPlus, base: m.s.slots.reg(r.ULEB())})
	case cfaOffsetExtended:
		c := m.column(r.ULEB())
		m.row.set(c, atCFA(m.factored()))
	case cfaOffsetExtendedSF:
		c := m.column(r.ULEB())
		m.row.set(c, atCFA(m.factoredSigned()))
	case cfaGNUNegativeOffset:
		c := m.column(r.ULEB())
		m.row.set(c, atCFA(-m.factored()))
	case cfaValOffset:
		c := m.column(r.ULEB())
		m.row.set(c, cfaPlus(m.factored()))
	case cfaValOffsetSF:
		c := m.column(r.ULEB())
		m.row.set(c, cfaPlus(m.factoredSigned()))
	case cfaExpression:
		c := m.column(r.ULEB())
		m.row.set(c, m.expression(stackwalk.Expression))
	case cfaValExpression:
		c := m.column(r.ULEB())
		m.row.set(c, m.expression(stackwalk.ValExpression))
	case cfaGNUArgsSize:
		r.ULEB() // what a landing pad must pop; the CFA does not change
	case cfaNegateRAState, cfaNegateRAStateWithPC:
		m.negateRAState()
	default:
		m.defineCFA(op)
	}
}

// defineCFA executes the instructions that set the CFA. Some change one half of
// register plus offset. The standard wants such a rule to be there (DWARF 5
// §6.4.2.2); real programs do not keep to it, and what libgcc does with them is
// what they were tested with:
//   - at the start there is such a rule, with offset 0: the CIEs of GNU as for
//     MIPS and RISC-V have a DW_CFA_def_cfa_register and nothing before it;
//   - an expression does not destroy it, DW_CFA_def_cfa_register takes it up
//     again with the offset of old: libgcrypt's AVX2 code, at its end.
func (m *machine) defineCFA(op uint8) {
	r, w := &m.r, &m.row
	switch op {
	case cfaDefCFA:
		w.cfa.base, w.byExpr = m.s.slots.reg(r.ULEB()), false
		w.cfa.off = int64(r.ULEB())
	case cfaDefCFASF:
		w.cfa.base, w.byExpr = m.s.slots.reg(r.ULEB()), false
		w.cfa.off = m.factoredSigned()
	case cfaDefCFARegister:
		w.cfa.base, w.byExpr = m.s.slots.reg(r.ULEB()), false
	case cfaDefCFAOffset:
		w.cfa.off = int64(r.ULEB())
	case cfaDefCFAOffsetSF:
		w.cfa.off = m.factoredSigned()
	case cfaDefCFAExpression:
		w.cfaExpr, w.byExpr = m.expression(stackwalk.ValExpression), true
	default:
		m.stop(unwind.Unsupported)
	}
}

// advance begins a row delta units of code further on, unless that is past the
// wanted address: then the row is complete.
func (m *machine) advance(delta uint64) {
	m.moveTo(m.loc + delta*m.cie.codeAlign)
}

func (m *machine) setLoc() {
	v, ok := m.s.pointer(&m.r, m.cie.fdeEnc, m.cie.addrSize, m.start)
	if !ok {
		m.stop(unwind.Malformed)
	}
	if m.table.arch.ISABit {
		v &^= 1
	}
	m.moveTo(v - m.start)
}

// moveTo begins the row at a location. Locations must grow: where one does not, the rows end.
func (m *machine) moveTo(loc uint64) {
	if m.r.Err() == nil && (loc > m.want || loc < m.loc) {
		m.stop(unwind.Found)
	} else if m.lister != nil {
		m.lister.row(m, loc)
	}
	m.loc = loc
}

// restore gives a register the rule that the CIE gives it.
func (m *machine) restore(n uint64) { m.row.inherit(m.column(n), m.initial) }

// factored reads an unsigned offset in units of the data alignment factor,
// factoredSigned a signed one.
func (m *machine) factored() int64 { return int64(m.r.ULEB()) * m.cie.dataAlign }

func (m *machine) factoredSigned() int64 { return m.r.SLEB() * m.cie.dataAlign }

func (m *machine) expression(kind stackwalk.Kind) cell {
	n := m.r.ULEB()
	off := int64(m.r.Offset())
	m.r.Skip(n)
	return cell{kind: kind, base: cpu.NoReg, off: off<<32 | int64(n&0xffff_ffff)}
}

// negateRAState toggles whether the return address is signed (AADWARF64,
// "DW_CFA_AARCH64_negate_ra_state").
func (m *machine) negateRAState() {
	if !m.table.signs {
		m.stop(unwind.Unsupported)
		return
	}
	m.row.signed = !m.row.signed
}
