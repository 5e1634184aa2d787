package debugframe

import (
	"encoding/binary"
	"math"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/tables/debugfile"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// encoder writes a section of call frame information.
type encoder struct {
	p     *tables.Program
	arch  *cpu.Arch
	order binary.AppendByteOrder
	eh    bool
	addr  uint64 // of the section, .eh_frame only: its addresses are relative
	out   []byte
	cies  [2]int // where the entries of ordinary frames and of signal frames begin, -1 before
	// reasons say why rules of Program.Rules cannot be expressed, "" where they can.
	reasons []string
	refused []tables.Refusal
	entries int
}

func newEncoder(p *tables.Program, eh bool) *encoder {
	a := p.Image.Arch
	e := &encoder{p: p, arch: a, eh: eh, order: binary.LittleEndian, cies: [2]int{-1, -1}}
	if a.BigEndian {
		e.order = binary.BigEndian
	}
	if eh {
		e.addr = debugfile.Behind(p.Image)
	}
	for i := range p.Rules {
		e.reasons = append(e.reasons, inexpressible(a, &p.Rules[i]))
	}
	return e
}

// functions writes an entry for each stretch of code with rules.
func (e *encoder) functions() {
	for i := range e.p.Functions {
		f := &e.p.Functions[i]
		for from := 0; from < len(f.Rows); {
			to := from + 1
			if e.sayable(f, from) {
				for to < len(f.Rows) && e.sayable(f, to) && e.signal(f, to) == e.signal(f, from) {
					to++
				}
				e.entry(f, from, to)
			}
			from = to
		}
	}
	if e.eh {
		e.out = append(e.out, 0, 0, 0, 0) // the terminator
	}
}

// sayable tells whether a row has a rule that call frame information can say. Any other rule is
// added to refused.
func (e *encoder) sayable(f *tables.Function, row int) bool {
	n := f.Rows[row].Rule
	if n == tables.None {
		return false
	}
	why := e.reasons[n]
	if start := f.Rows[row].Addr; why == "" && e.eh && int64(start-e.addr) != int64(int32(start-e.addr)) {
		why = "more than 2 GB lie between the code and the table"
	}
	if why == "" {
		return true
	}
	at := f.Rows[row].Addr
	r := tables.Refusal{Function: f.Symbol(), Addr: at, Size: f.RowEnd(row) - at, Reason: why}
	if k := len(e.refused); k == 0 || e.refused[k-1] != r {
		e.refused = append(e.refused, r)
	}
	return false
}

func (e *encoder) rule(f *tables.Function, row int) *tables.Rule { return &e.p.Rules[f.Rows[row].Rule] }

func (e *encoder) signal(f *tables.Function, row int) bool { return isSignal(e.rule(f, row)) }

// entry writes the frame description entry of the rows from one up to another. Where bit 0 of a
// code address is the mode, readers take it off the entry's start: a row that only holds while a call
// is running, behind the call's first byte, begins a byte later.
func (e *encoder) entry(f *tables.Function, from, to int) {
	lo, hi := f.Rows[from].Addr, f.RowEnd(to-1)
	if e.arch.ISABit {
		lo += lo & 1
	}
	if lo >= hi {
		return
	}
	cie := e.cie(e.signal(f, from))
	start := e.begin()
	if e.eh {
		e.u32(uint32(start + 4 - cie))
		e.u32(uint32(lo - (e.addr + uint64(len(e.out)))))
		e.u32(uint32(hi - lo))
	} else {
		e.u32(uint32(cie))
		e.word(lo)
		e.word(hi - lo)
	}
	if e.eh || e.signal(f, from) {
		e.out = append(e.out, 0) // no augmentation data
	}
	e.program(f, lo, from, to)
	e.end(start)
	e.entries++
}

// lookAhead bounds the search for a row that says the same as an earlier one.
const lookAhead = 64

// program writes the changes from row to row, of which the first begins at lo. Where a state comes back, as behind an early
// return, it is remembered.
func (e *encoder) program(f *tables.Function, lo uint64, from, to int) {
	last := entryRule(e.arch) // what the instructions so far say
	last.Flags |= e.rule(f, from).Flags & rule.SignalFrame
	kept, back := last, -1 // the state that was remembered, and the row at which it comes back
	for i := from; i < to; i++ {
		if i > from {
			e.advance(f.Rows[i].Addr - max(lo, f.Rows[i-1].Addr))
		}
		now := e.rule(f, i)
		if i == back {
			e.out = append(e.out, opRestoreState)
			last, back = kept, -1
		} else {
			e.out = change(e.out, e.arch, &last, now)
			last = then(&last, now)
		}
		if back < 0 {
			if back = e.returns(f, i, to); back >= 0 {
				e.out = append(e.out, opRememberState)
				kept = last
			}
		}
	}
}

// returns finds the row at which the state of row i comes back, -1 where none does for which
// remembering pays.
func (e *encoder) returns(f *tables.Function, i, to int) int {
	for k := i + 2; k < min(to, i+lookAhead); k++ {
		if f.Rows[k].Rule == f.Rows[i].Rule {
			if len(change(nil, e.arch, e.rule(f, k-1), e.rule(f, k))) > 2 {
				return k
			}
			return -1
		}
	}
	return -1
}

// advance moves the location on.
func (e *encoder) advance(n uint64) {
	switch {
	case n < 0x40:
		e.out = append(e.out, opAdvanceLoc|byte(n))
	case n <= math.MaxUint8:
		e.out = append(e.out, opAdvanceLoc1, byte(n))
	case n <= math.MaxUint16:
		e.out = e.order.AppendUint16(append(e.out, opAdvanceLoc2), uint16(n))
	default:
		for ; n > math.MaxUint32; n -= math.MaxUint32 {
			e.out = e.order.AppendUint32(append(e.out, opAdvanceLoc4), math.MaxUint32)
		}
		e.out = e.order.AppendUint32(append(e.out, opAdvanceLoc4), uint32(n))
	}
}

// cie is where the common information entry of ordinary or of signal frames begins. It is
// written when it is first asked for. The entry has a rule for the return address, even where that is
// in its register: GDB 13 executes a program in two parts, up to the function's entry and on, and
// forgets in between what was remembered unless a common entry had a rule for some register
// (gdb/dwarf2/frame.c, execute_cfa_program).
func (e *encoder) cie(signal bool) int {
	kind, augmentation := 0, ""
	if e.eh {
		augmentation = "zR"
	}
	if signal {
		kind = 1
		augmentation = map[bool]string{true: "zRS", false: "zS"}[e.eh]
	}
	if e.cies[kind] >= 0 {
		return e.cies[kind]
	}
	start := e.begin()
	e.cies[kind] = start
	if e.eh {
		e.u32(0)
		e.out = append(e.out, 1)
	} else {
		e.u32(math.MaxUint32)
		e.out = append(e.out, 3)
	}
	e.out = append(append(e.out, augmentation...), 0)
	e.out = uleb(e.out, 1)
	e.out = sleb(e.out, -int64(e.arch.RegSize))
	e.returnColumn(signal)
	switch {
	case e.eh:
		e.out = append(e.out, 1, encodingPCRel4)
	case signal:
		e.out = append(e.out, 0)
	}
	entry := entryRule(e.arch)
	e.out = define(e.out, e.arch, &rule.Register{}, &entry.CFA)
	if signal {
		entry.Flags |= rule.SignalFrame
	}
	e.out = returnAddress(e.out, e.arch, &entry)
	e.end(start)
	return start
}

// returnColumn writes the number of the return address's column, a byte in version 1.
func (e *encoder) returnColumn(signal bool) { e.out = uleb(e.out, raColumn(e.arch, signal)) }

// begin begins an entry, whose length end fills in.
func (e *encoder) begin() int {
	start := len(e.out)
	e.u32(0)
	return start
}

// end fills up with DW_CFA_nop, so that the next entry is aligned to the size of addresses.
func (e *encoder) end(start int) {
	align := e.arch.AddrSize
	if e.eh {
		align = 4
	}
	for len(e.out)%align != 0 {
		e.out = append(e.out, 0)
	}
	length := e.order.AppendUint32(nil, uint32(len(e.out)-start-4))
	copy(e.out[start:], length)
}

func (e *encoder) u32(v uint32) { e.out = e.order.AppendUint32(e.out, v) }

func (e *encoder) word(v uint64) {
	if e.arch.AddrSize == 8 {
		e.out = e.order.AppendUint64(e.out, v)
		return
	}
	e.u32(uint32(v))
}
