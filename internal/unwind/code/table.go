package code

import "github.com/backsight/backsight/cpu"

// jumpTable describes how a table's element becomes a jump target: the element
// (size bytes at at + i·size, sign-extended or not) shifted left, plus rel.
type jumpTable struct {
	at     uint64
	size   uint8
	signed bool
	shift  uint8
	rel    int64
	hasRel bool
	// limit and slack are state's: the number of elements if a comparison told.
	limit, slack int64
}

// maxElements bounds a table whose size no comparison tells.
const maxElements = 1024

// element is the abstract value of a table's element.
func (m *machine) element(at uint64, in *cpu.Insn, s *state) value {
	if in.Size == 0 || in.Size > 8 {
		return value{}
	}
	return m.tableValue(jumpTable{at: at, size: in.Size, signed: in.Flags&cpu.FlagSigned != 0, limit: s.limit, slack: s.slack})
}

func (m *machine) tableValue(t jumpTable) value {
	for i := range m.tables {
		if m.tables[i] == t {
			return value{kind: table, off: int64(i)}
		}
	}
	if len(m.tables) >= 256 {
		return value{}
	}
	m.tables = append(m.tables, t)
	return value{kind: table, off: int64(len(m.tables) - 1)}
}

// relative is base + element<<shift.
func (m *machine) relative(v value, rel int64, shift uint8) value {
	t := m.tables[v.off]
	t.shift += shift
	t.rel += rel
	t.hasRel = true
	return m.tableValue(t)
}

// signed is an element that is sign-extended after it was loaded.
func (m *machine) signed(v value) value {
	t := m.tables[v.off]
	if t.hasRel || t.shift != 0 {
		return value{}
	}
	t.signed = true
	return m.tableValue(t)
}

func (m *machine) scaled(v value, shift uint8) value {
	t := m.tables[v.off]
	if t.hasRel {
		return value{}
	}
	t.shift += shift
	return m.tableValue(t)
}

// tableJump is a jump through a table of halves or bytes relative to the PC
// (tbb, tbh).
func (f *function) tableJump(b *block, st *state, in *cpu.Insn) {
	if in.Size == 0 {
		f.codeTable(b, st, in)
		return
	}
	at := f.operand(st, in)
	if at.kind != indexed && at.kind != konst {
		f.unresolved(b, st)
		return
	}
	v := f.tableValue(jumpTable{at: uint64(at.off) & f.arch.AddrMask(), size: in.Size, shift: 1, rel: int64(in.Target), hasRel: true, limit: st.limit, slack: st.slack})
	if v.kind == table {
		f.followTable(b, st, int(v.off))
	}
}

// codeTable is a jump into a run of branches (ARM: add pc,pc,r3,lsl #2): the
// elements are places in the code, a power of two apart.
func (f *function) codeTable(b *block, st *state, in *cpu.Insn) {
	at := constant(int64(in.Target))
	if in.Base != cpu.NoReg {
		at = st.get(in.Base).plus(at.off)
	}
	if at.kind != konst || st.limit <= 0 || st.limit > maxElements {
		f.unresolved(b, st)
		return
	}
	for i := range st.limit {
		a := uint64(at.off+i<<in.Scale) & f.arch.AddrMask()
		if f.img.Code(a) != nil {
			f.flow(jump{a, b.mode}, st, edgeTable, 0)
		}
	}
}

// followTable continues at every element's target. Without a bound it stops at
// the first element that leads out of the function's neighbourhood.
func (f *function) followTable(b *block, st *state, index int) {
	t := f.tables[index]
	n := t.limit
	if n <= 0 || n > maxElements {
		n = maxElements
	}
	hi := f.an.nextEntry(max(f.entry, b.end), f.entry)
	lo := f.entry
	count := 0
	for i := range n {
		how := edgeTable
		if t.limit <= 0 || i >= t.limit-t.slack {
			how = edgeLoose
		}
		to, ok := f.elementTarget(&t, uint64(i), b.mode)
		if !ok || t.limit <= 0 && (to.to < lo || to.to >= hi) {
			break
		}
		if to.to < lo || to.to >= hi {
			continue
		}
		f.flow(to, st, how, 0)
		if t.limit <= 0 {
			f.labels = append(f.labels, to.to)
		}
		count++
	}
	if f.img.Code(t.at) != nil {
		f.data[t.at] = uint64(count) * uint64(t.size)
	}
	if count == 0 {
		f.through(b, st)
	} else if t.limit <= 0 {
		f.complete = false
		f.gotos++
	}
}

func (f *function) elementTarget(t *jumpTable, i uint64, mode cpu.Mode) (jump, bool) {
	v, ok := f.img.Uint(t.at+i*uint64(t.size), int(t.size))
	if !ok {
		return jump{}, false
	}
	x := int64(v)
	if shift := 64 - 8*uint(t.size); t.signed || t.size == 4 && f.arch.AddrSize == 4 {
		x = x << shift >> shift
	}
	if t.size < uint8(f.arch.AddrSize) && !t.hasRel && !(t.size == 4 && f.arch.AddrSize == 8) {
		return jump{}, false
	}
	a := uint64(x<<t.shift+t.rel) & f.arch.AddrMask()
	if f.arch.ISABit {
		a &^= 1
	}
	if a&(f.arch.InsnAlign-1) != 0 || f.img.Code(a) == nil {
		return jump{}, false
	}
	return jump{a, mode}, true
}
