//go:build !small

package symbol

import (
	"math"

	"github.com/backsight/backsight/internal/bin"
)

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

// lineProgram is a line number program with what its header says of it (§6.2.4).
type lineProgram struct {
	code            []byte
	big             bool
	minInsn, maxOps uint64
	lineBase        int64
	lineRange       uint8
	opcodeBase      uint8
	lengths         []byte // operands of standard opcodes
}

// lineState is the state machine's registers that matter here (§6.2.2).
type lineState struct {
	addr, op uint64
	file     uint64
	line     int64
}

func beginSequence() lineState { return lineState{file: 1, line: 1} }

// row is what the state says. A line that no source has is 0.
func (s *lineState) row() lineRow {
	line := uint32(0)
	if s.line > 0 && s.line <= math.MaxUint32 {
		line = uint32(s.line)
	}
	return lineRow{s.addr, uint32(min(s.file, math.MaxUint32)), line}
}

// lineEvent is what an opcode did besides changing the state.
type lineEvent uint8

const (
	lineNothing lineEvent = iota
	lineRowMade
	lineEnd // of the sequence
)

// step runs one opcode. define, unless nil, is told of the files that the program
// itself names.
func (p *lineProgram) step(r *bin.Reader, s *lineState, define func(name []byte, dir uint64)) lineEvent {
	op := r.U8()
	switch {
	case op >= p.opcodeBase:
		adjusted := op - p.opcodeBase
		p.advance(s, uint64(adjusted/p.lineRange))
		s.line += p.lineBase + int64(adjusted%p.lineRange)
		return lineRowMade
	case op == lnsExtended:
		return p.extended(r, s, define)
	case op == lnsCopy:
		return lineRowMade
	}
	p.standard(r, s, op)
	return lineNothing
}

// advance moves on by operations: instructions, except on VLIW processors.
func (p *lineProgram) advance(s *lineState, n uint64) {
	if p.maxOps == 1 {
		s.addr += p.minInsn * n
		return
	}
	s.addr += p.minInsn * ((s.op + n) / p.maxOps)
	s.op = (s.op + n) % p.maxOps
}

func (p *lineProgram) standard(r *bin.Reader, s *lineState, op byte) {
	switch op {
	case lnsAdvancePC:
		p.advance(s, r.ULEB())
	case lnsAdvanceLine:
		s.line += r.SLEB()
	case lnsSetFile:
		s.file = r.ULEB()
	case lnsConstAddPC:
		p.advance(s, uint64((255-p.opcodeBase)/p.lineRange))
	case lnsFixedAdvancePC:
		s.addr, s.op = s.addr+uint64(r.U16()), 0
	default: // no effect here, or not known: the header says how many operands
		for range p.lengths[op-1] {
			r.ULEB()
		}
	}
}

func (p *lineProgram) extended(r *bin.Reader, s *lineState, define func([]byte, uint64)) lineEvent {
	n := r.ULEB()
	end := uint64(r.Offset()) + n
	if n == 0 || n > uint64(r.Len()) {
		r.Skip(n)
		return lineNothing
	}
	event := lineNothing
	switch r.U8() {
	case lneEndSequence:
		event = lineEnd
	case lneSetAddress:
		s.addr, s.op = r.Uint(int(min(n-1, 8))), 0
	case lneDefineFile:
		if name, dir := r.CBytes(), r.ULEB(); define != nil {
			define(name, dir)
		}
	}
	r.Seek(end)
	return event
}

// program runs the line number program once. Every opcode takes a byte at least.
func (l *lineReader) program() {
	t := &l.table
	r := bin.New(t.code, l.big)
	define := func(name []byte, dir uint64) {
		if l.keep(fileEntrySize) {
			l.addFile(name, dir)
		}
	}
	for r.Len() > 0 && r.Err() == nil && !l.full {
		l.sequence(&r, define)
	}
}

// sequence runs up to the end of a sequence, and keeps where it is. Rows that do not
// ascend would send the search astray; a sequence that has them is left out.
func (l *lineReader) sequence(r *bin.Reader, define func([]byte, uint64)) {
	t, s := &l.table, beginSequence()
	q := sequence{begin: uint32(r.Offset()), firstMark: uint32(len(t.marks))}
	marked, rows, ascending := r.Offset(), 0, true
	var first uint64
	var last lineRow
	for r.Len() > 0 && r.Err() == nil && !l.full {
		if rows > 0 && r.Offset()-marked >= markEvery && l.keep(markSize) {
			marked = r.Offset()
			t.marks = append(t.marks, lineMark{uint32(marked), s, last})
		}
		switch t.step(r, &s, define) {
		case lineRowMade:
			if rows == 0 {
				first = s.addr
			}
			ascending = ascending && (rows == 0 || s.addr >= last.addr)
			last = s.row()
			rows++
		case lineEnd:
			q.endMark = uint32(len(t.marks))
			if rows > 0 && ascending && s.addr > first && l.keep(sequenceSize) {
				t.runs = append(t.runs, span{first, s.addr, len(t.seqs)})
				t.seqs = append(t.seqs, q)
			} else {
				t.marks = t.marks[:q.firstMark]
			}
			return
		}
	}
}
