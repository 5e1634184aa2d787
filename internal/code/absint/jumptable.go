package absint

import "github.com/backsight/backsight/cpu"

// JumpTable describes how a table's element becomes a jump target: the element (Size
// bytes at At + i·Size, sign-extended or not) shifted left, plus Rel.
type JumpTable struct {
	At     uint64
	Size   uint8
	Signed bool
	Shift  uint8
	Rel    int64
	HasRel bool
	// Limit and Slack are those of State: the number of elements if a comparison told.
	Limit, Slack int64
}

// maxTables bounds the jump tables of one analysis: the forms of a few dozen.
const maxTables = 256

// JumpTables numbers the jump tables that an analysis meets.
type JumpTables struct {
	list   []JumpTable
	frozen bool // no table is added
}

// Table is the table that a value of kind TableElement is an element of.
func (ts *JumpTables) Table(v Value) JumpTable { return ts.list[v.Off] }

// Element is the value of an element, unknown when there are too many tables.
func (ts *JumpTables) Element(t JumpTable) Value {
	for i := range ts.list {
		if ts.list[i] == t {
			return Value{Kind: TableElement, Off: int64(i)}
		}
	}
	if len(ts.list) >= maxTables || ts.frozen {
		return Value{}
	}
	ts.list = append(ts.list, t)
	return Value{Kind: TableElement, Off: int64(len(ts.list) - 1)}
}

// relative is rel + element<<shift.
func (ts *JumpTables) relative(v Value, rel int64, shift uint8) Value {
	t := ts.list[v.Off]
	t.Shift += shift
	t.Rel += rel
	t.HasRel = true
	return ts.Element(t)
}

// signed is an element that is sign-extended after the load.
func (ts *JumpTables) signed(v Value) Value {
	t := ts.list[v.Off]
	if t.HasRel || t.Shift != 0 {
		return Value{}
	}
	t.Signed = true
	return ts.Element(t)
}

// scaled is element<<shift.
func (ts *JumpTables) scaled(v Value, shift uint8) Value {
	t := ts.list[v.Off]
	if t.HasRel {
		return Value{}
	}
	t.Shift += shift
	return ts.Element(t)
}

// loadedElement is the value of an element that an instruction loads.
func (ts *JumpTables) loadedElement(at uint64, in *cpu.Insn, s *State) Value {
	if in.Size == 0 || in.Size > 8 {
		return Value{}
	}
	return ts.Element(JumpTable{At: at, Size: in.Size, Signed: in.Flags&cpu.FlagSigned != 0, Limit: s.Limit, Slack: s.Slack})
}
