package symbol

import "math"

// Standard and extended opcodes (DWARF 5, tables 7.25 and 7.26).
const (
	lnsExtended       = 0
	lnsCopy           = 1
	lnsAdvancePC      = 2
	lnsAdvanceLine    = 3
	lnsSetFile        = 4
	lnsConstAddPC     = 8
	lnsFixedAdvancePC = 9

	lneEndSequence = 1
	lneSetAddress  = 2
	lneDefineFile  = 3
)

// lineState is the state machine's registers that matter here (§6.2.2).
type lineState struct {
	addr, op uint64
	file     uint64
	line     int64
	first    int // the sequence's first row
}

func (l *lineReader) begin() lineState { return lineState{file: 1, line: 1, first: len(l.table.rows)} }

// program runs the line number program. Every opcode takes a byte at least.
func (l *lineReader) program() {
	s := l.begin()
	for l.r.Len() > 0 && l.r.Err() == nil {
		op := l.r.U8()
		switch {
		case op >= l.opcodeBase:
			adjusted := uint64(op - l.opcodeBase)
			l.advance(&s, adjusted/l.lineRange)
			s.line += l.lineBase + int64(adjusted%l.lineRange)
			l.emit(&s)
		case op == lnsExtended:
			l.extended(&s)
		default:
			l.standard(&s, op)
		}
	}
}

// advance moves on by operations: instructions, except on VLIW processors.
func (l *lineReader) advance(s *lineState, n uint64) {
	s.addr += l.minInsn * ((s.op + n) / l.maxOps)
	s.op = (s.op + n) % l.maxOps
}

func (l *lineReader) emit(s *lineState) {
	line := uint32(0)
	if s.line > 0 && s.line <= math.MaxUint32 {
		line = uint32(s.line)
	}
	l.table.rows = append(l.table.rows, lineRow{s.addr, uint32(min(s.file, math.MaxUint32)), line})
}

func (l *lineReader) standard(s *lineState, op byte) {
	switch op {
	case lnsCopy:
		l.emit(s)
	case lnsAdvancePC:
		l.advance(s, l.r.ULEB())
	case lnsAdvanceLine:
		s.line += l.r.SLEB()
	case lnsSetFile:
		s.file = l.r.ULEB()
	case lnsConstAddPC:
		l.advance(s, uint64(255-l.opcodeBase)/l.lineRange)
	case lnsFixedAdvancePC:
		s.addr, s.op = s.addr+uint64(l.r.U16()), 0
	default: // no effect here, or not known: the header says how many operands
		for range l.lengths[op-1] {
			l.r.ULEB()
		}
	}
}

func (l *lineReader) extended(s *lineState) {
	n := l.r.ULEB()
	end := uint64(l.r.Offset()) + n
	if n == 0 || n > uint64(l.r.Len()) {
		l.r.Skip(n)
		return
	}
	switch l.r.U8() {
	case lneEndSequence:
		l.endSequence(s)
	case lneSetAddress:
		s.addr, s.op = l.r.Uint(int(min(n-1, 8))), 0
	case lneDefineFile:
		l.addFile(l.r.CString(), l.r.ULEB())
	}
	l.r.Seek(end)
}

// endSequence closes a run of rows that ascend. Rows that do not would send the
// search astray; a sequence that has them is left out.
func (l *lineReader) endSequence(s *lineState) {
	rows := l.table.rows[s.first:]
	ascending := len(rows) > 0 && s.addr > rows[0].addr
	for i := 1; i < len(rows); i++ {
		ascending = ascending && rows[i].addr >= rows[i-1].addr
	}
	if ascending {
		l.table.runs = append(l.table.runs, span{rows[0].addr, s.addr, len(l.table.ends)})
		l.table.ends = append(l.table.ends, rowRange{s.first, len(l.table.rows)})
	} else {
		l.table.rows = l.table.rows[:s.first]
	}
	*s = l.begin()
}
