package cfi

import (
	"math"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Call frame instructions: DWARF 5 §7.24, the GNU ones of LSB Core, the vendors'
// of binutils' include/dwarf2.def and AADWARF64.
const (
	cfaAdvanceLoc = 0x40 // the operand is in the low six bits
	cfaOffset     = 0x80
	cfaRestore    = 0xc0

	cfaNop              = 0x00
	cfaSetLoc           = 0x01
	cfaAdvanceLoc1      = 0x02
	cfaAdvanceLoc2      = 0x03
	cfaAdvanceLoc4      = 0x04
	cfaOffsetExtended   = 0x05
	cfaRestoreExtended  = 0x06
	cfaUndefined        = 0x07
	cfaSameValue        = 0x08
	cfaRegister         = 0x09
	cfaRememberState    = 0x0a
	cfaRestoreState     = 0x0b
	cfaDefCFA           = 0x0c
	cfaDefCFARegister   = 0x0d
	cfaDefCFAOffset     = 0x0e
	cfaDefCFAExpression = 0x0f
	cfaExpression       = 0x10
	cfaOffsetExtendedSF = 0x11
	cfaDefCFASF         = 0x12
	cfaDefCFAOffsetSF   = 0x13
	cfaValOffset        = 0x14
	cfaValOffsetSF      = 0x15
	cfaValExpression    = 0x16

	cfaMIPSAdvanceLoc8     = 0x1d
	cfaNegateRAStateWithPC = 0x2c
	// cfaNegateRAState is DW_CFA_AARCH64_negate_ra_state; on SPARC the same
	// number is DW_CFA_GNU_window_save.
	cfaNegateRAState     = 0x2d
	cfaGNUArgsSize       = 0x2e
	cfaGNUNegativeOffset = 0x2f
)

const (
	// maxSteps bounds the instructions of one query. The longest real programs
	// (i386 code that pushes its arguments) have some ten thousand.
	maxSteps = 1 << 20
	// maxRemembered bounds how many states are remembered at once. Compilers
	// need one or two.
	maxRemembered = 32
)

// machine executes the programs of a CIE and an FDE up to the row of one address.
type machine struct {
	table *table
	s     *section
	cie   *cie
	ra    cpu.Reg // column of the return address
	// want is the address whose row is looked for, loc where the row begins;
	// both relative to start.
	start, loc, want uint64

	lister *lister // is shown every row, unless nil

	r       bin.Reader
	steps   int
	verdict unwind.Verdict
	done    bool // the row is complete, or verdict tells why not
	row     row
	initial *row // what the CIE says
}

// firstRow is what the program of a CIE makes, and how that ended.
type firstRow struct {
	row     row
	verdict unwind.Verdict
}

// column maps a DWARF register number. The return address has a column even if
// the ABI's descriptor does not know its register.
func (m *machine) column(n uint64) cpu.Reg {
	if n == m.cie.ra {
		return m.ra
	}
	return m.s.slots.reg(n)
}

// run fills out with the row of q.PC, which f covers.
func (t *table) run(s *section, f *fde, q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	var m machine
	m.init(t, s, f)
	m.want = q.PC - f.start
	if !m.begin() {
		return m.verdict
	}
	m.execute(f.code)
	if m.verdict != unwind.Found {
		return m.verdict
	}
	pc := q.PC
	if !q.Exact {
		pc = 0
	}
	if !restated(&m, out, pc) {
		return unwind.Unsupported
	}
	out.Start, out.Flags = f.start, out.Flags|stackwalk.StartStated
	return unwind.Found
}

// restated fills out with m's row, expressions restated where they can be. What is left of
// them is evaluated by DWARF's numbers of registers, which not every section has.
func restated(m *machine, out *stackwalk.Rule, pc uint64) bool {
	if !m.fill(out) {
		return false
	}
	m.s.simplify(out, pc)
	return m.s.slots == m.table.slots || !expressed(out)
}

func (m *machine) init(t *table, s *section, f *fde) {
	m.table, m.s, m.cie, m.start = t, s, f.cie, f.start
	if m.ra = s.slots.reg(f.cie.ra); m.ra == cpu.NoReg {
		m.ra = pseudoColumn
	}
}

// begin makes the first row, which is the CIE's.
func (m *machine) begin() bool {
	first := m.cie.first.Load()
	if first == nil {
		first = m.firstRow()
		m.cie.first.Store(first)
	}
	m.initial = &first.row
	m.row.copyFrom(m.initial)
	m.verdict = first.verdict
	return m.verdict == unwind.Found
}

// firstRow executes the CIE's program, in a machine without lister.
func (m *machine) firstRow() *firstRow {
	first := new(firstRow)
	c := machine{table: m.table, s: m.s, cie: m.cie, ra: m.ra, want: math.MaxUint64, initial: &first.row} // which is empty until the end
	c.row.cfa = cell{kind: stackwalk.RegPlus, base: cpu.NoReg}
	c.execute(m.cie.code)
	first.row, first.verdict = c.row, c.verdict
	return first
}

func (m *machine) execute(code span) {
	m.r = m.s.reader(code.off, code.end)
	m.block(0)
}

// block executes up to the restore_state that ends it, then it reports true, or
// to the end of the program. Remembered states lie on the stack of Go, one frame
// each: no storage is needed for the usual program that remembers none.
func (m *machine) block(depth int) (restored bool) {
	for !m.done && m.r.Len() > 0 {
		op := m.r.U8()
		switch {
		case op >= cfaAdvanceLoc && op < cfaOffset:
			m.advance(uint64(op - cfaAdvanceLoc))
		case op >= cfaOffset && op < cfaRestore:
			m.row.set(m.column(uint64(op-cfaOffset)), atCFA(m.factored()))
		case op >= cfaRestore:
			m.restore(uint64(op - cfaRestore))
		case op == cfaRememberState:
			m.remember(depth)
		case op == cfaRestoreState:
			if depth == 0 {
				m.stop(unwind.Malformed)
			}
			return true
		default:
			m.instruction(op)
		}
		if m.steps++; m.steps > maxSteps || m.r.Err() != nil {
			m.stop(unwind.Malformed)
		}
	}
	return false
}

// remember executes until the matching restore_state and then takes the row
// back, the CFA with it, as all consumers do.
func (m *machine) remember(depth int) {
	if depth == maxRemembered {
		m.stop(unwind.Malformed)
		return
	}
	saved := m.row
	if m.block(depth + 1) {
		m.row = saved
	}
}

// stop ends the execution; the first reason counts.
func (m *machine) stop(v unwind.Verdict) {
	if !m.done {
		m.done, m.verdict = true, v
	}
}
