//go:build !small

package symbol

import (
	"math"
	"sort"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// lineTable is the line number table of a unit. Its rows are not kept: a table of n
// bytes has up to n rows of 16 bytes. The program is run once, to learn where its
// sequences are and to leave a mark every markEvery bytes, and then again, for each
// address, from the mark before it.
//
//	program  ─────●───────────●──────┤ end_sequence ├────●─────────┤
//	marks        state       state                      state
//
// debug/dwarf's reader would decode a table from the start for every address, and
// takes counts in DWARF 5 headers on trust.
type lineTable struct {
	fileList
	lineProgram
	runs  []span // addresses of sequences: of is an index in seqs
	seqs  []sequence
	marks []lineMark
}

// sequence is a run of rows whose addresses ascend: the offset in the program where
// it begins, and its marks.
type sequence struct{ begin, firstMark, endMark uint32 }

// lineMark is a place within a sequence: the state before the opcode at an offset,
// and the last row before it.
type lineMark struct {
	at    uint32
	state lineState
	row   lineRow
}

// lineRow says that code from addr on comes from a line.
type lineRow struct {
	addr       uint64
	file, line uint32
}

// Sizes in memory, in bytes, that sequences and marks are charged with.
const (
	sequenceSize = 36 // with its span
	markSize     = 56
)

// markEvery is the distance of marks in bytes of the program: some 80 rows, which
// take a microsecond to run through.
const markEvery = 1 << 8

// find returns the place of an address, "" and 0 where none is known. Line 0 is
// code that the compiler attributes to no line (§6.2.2).
func (t *lineTable) find(addr uint64) (file string, line int) {
	of, ok := covering(t.runs, addr)
	if !ok {
		return "", 0
	}
	q := t.seqs[of]
	marks := t.marks[q.firstMark:q.endMark]
	at, s := q.begin, beginSequence()
	last, row := s, lineRow{}
	if k := sort.Search(len(marks), func(i int) bool { return marks[i].row.addr > addr }); k > 0 {
		m := &marks[k-1]
		at, s, row = m.at, m.state, m.row
	}
	seen := false
	r := bin.NewAt(t.code, uint64(at), t.big)
	for r.Err() == nil {
		e := t.step(&r, &s, nil)
		if e == lineEnd || e == lineRowMade && s.addr > addr {
			break
		}
		if e == lineRowMade {
			last, seen = s, true
		}
	}
	if seen {
		row = last.row()
	}
	return t.path(int(row.file)), int(row.line)
}

// readLines reads the table at an offset of .debug_line (DWARF 5 §6.2). What is
// damaged ends it; what came before is kept.
func (d *debugInfo) readLines(at uint64, dir string) *lineTable {
	const longest = 12 // of initial lengths
	r := bin.New(d.img.Sections.Part(".debug_line", at, longest), d.big)
	n, wide := unitLength(&r)
	l := lineReader{sections: &d.sections, kept: &d.kept, offset: 4}
	if wide {
		l.offset = 8
	}
	l.table.dir, l.table.big = dir, d.big
	l.r = bin.New(d.img.Sections.Part(".debug_line", at+uint64(r.Offset()), min(n, math.MaxUint32)), d.big)
	if !d.work.Draw(l.r.Len()) {
		d.leaveOut(".debug_line", at, d.work.Err())
		return new(lineTable)
	}
	if l.header() {
		l.program()
		sortSpans(l.table.runs)
	}
	if l.full {
		d.leaveOut(".debug_line", at, d.kept.Err())
	}
	return &l.table
}

// lineReader reads one table.
type lineReader struct {
	*sections
	kept    *budget.Budget
	full    bool // a draw of kept failed
	r       bin.Reader
	version uint16
	offset  int // size of an offset
	table   lineTable
}

// keep draws memory for what is put into the table.
func (l *lineReader) keep(bytes int) bool {
	l.full = l.full || !l.kept.Draw(bytes)
	return !l.full
}

// header reads up to the program (§6.2.4).
func (l *lineReader) header() bool {
	r, p := &l.r, &l.table.lineProgram
	if l.version = r.U16(); l.version < 2 || l.version > 5 {
		return false
	}
	if l.version >= 5 {
		r.Skip(2) // address_size, segment_selector_size
	}
	length := r.Uint(l.offset)
	program := uint64(r.Offset()) + length
	p.minInsn, p.maxOps = uint64(r.U8()), 1
	if l.version >= 4 {
		p.maxOps = max(1, uint64(r.U8()))
	}
	r.U8() // default_is_stmt
	p.lineBase, p.lineRange = int64(int8(r.U8())), r.U8()
	p.opcodeBase = r.U8()
	p.lengths = r.Bytes(uint64(max(1, p.opcodeBase) - 1))
	if r.Err() != nil || p.lineRange == 0 || program < length {
		return false
	}
	if l.version >= 5 {
		l.entries(func(name []byte, _ uint64) { l.table.dirs = append(l.table.dirs, name) })
		l.entries(l.addFile)
	} else {
		l.oldEntries()
	}
	r.Seek(program)
	p.code = r.Bytes(uint64(r.Len()))
	return r.Err() == nil
}

// oldEntries reads the directories and files of DWARF 2 to 4, which begin at 1;
// directory 0 is the unit's.
func (l *lineReader) oldEntries() {
	r, t := &l.r, &l.table.fileList
	t.first = 1
	t.dirs = [][]byte{[]byte(t.dir)}
	for s := r.CBytes(); len(s) > 0 && l.keep(fileEntrySize); s = r.CBytes() {
		t.dirs = append(t.dirs, s)
	}
	for s := r.CBytes(); len(s) > 0 && l.keep(fileEntrySize); s = r.CBytes() {
		l.addFile(s, r.ULEB())
		r.ULEB() // time
		r.ULEB() // length
	}
}

func (l *lineReader) addFile(name []byte, dir uint64) {
	l.table.files = append(l.table.files, fileEntry{name, dir})
}
