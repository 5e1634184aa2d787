package symbol

import (
	"path"
	"sort"

	"github.com/backsight/backsight/internal/bin"
)

// lineTable is the line number table of a unit, read whole. debug/dwarf's reader
// would decode it from the start for every address, and takes counts in DWARF 5
// headers on trust.
type lineTable struct {
	files     []string
	firstFile int // number of files[0]: 1 before DWARF 5
	rows      []lineRow
	runs      []span // sequences: of is an index in ends
	ends      []rowRange
}

// rowRange are the rows from first to before end.
type rowRange struct{ first, end int }

// lineRow says that code from addr on comes from a line.
type lineRow struct {
	addr       uint64
	file, line uint32
}

// find returns the place of an address, "" and 0 where none is known. Line 0 is
// code that the compiler attributes to no line (§6.2.2).
func (t *lineTable) find(addr uint64) (file string, line int) {
	of, ok := covering(t.runs, addr)
	if !ok {
		return "", 0
	}
	rows := t.rows[t.ends[of].first:t.ends[of].end]
	i := sort.Search(len(rows), func(i int) bool { return rows[i].addr > addr })
	if i == 0 {
		return "", 0
	}
	return t.file(int(rows[i-1].file)), int(rows[i-1].line)
}

func (t *lineTable) file(n int) string {
	if n -= t.firstFile; n < 0 || n >= len(t.files) {
		return ""
	}
	return t.files[n]
}

// maxPath bounds paths: PATH_MAX of Linux.
const maxPath = 4096

// join makes a path of a directory and a name as compilers on Unix and Windows
// write them.
func join(dir, name string) string {
	absolute := path.IsAbs(name) || len(name) > 2 && name[1] == ':'
	if dir == "" || absolute || len(dir)+len(name) > maxPath {
		return name
	}
	return path.Join(dir, name)
}

// lineReader reads one table.
type lineReader struct {
	*sections
	r       bin.Reader
	version uint16
	offset  int // size of an offset
	addr    int // size of an address
	dirs    []string
	table   lineTable

	minInsn, maxOps uint64
	lineBase        int64
	lineRange       uint64
	opcodeBase      uint8
	lengths         []byte // operands of standard opcodes
}

// readLines reads the table at an offset of .debug_line (DWARF 5 §6.2). What is
// damaged ends it; what came before is kept.
func (d *debugInfo) readLines(at uint64, dir string) *lineTable {
	l := lineReader{sections: &d.sections, addr: d.img.Arch.AddrSize, offset: 4}
	const longest = 12 // of initial lengths
	r := bin.New(d.img.SectionPart(".debug_line", at, longest), d.big)
	n, wide := unitLength(&r)
	if wide {
		l.offset = 8
	}
	l.r = bin.New(d.img.SectionPart(".debug_line", at+uint64(r.Offset()), n), d.big)
	if l.header(dir) {
		l.program()
		sortSpans(l.table.runs)
	}
	return &l.table
}

// header reads up to the program (§6.2.4).
func (l *lineReader) header(dir string) bool {
	r := &l.r
	if l.version = r.U16(); l.version < 2 || l.version > 5 {
		return false
	}
	if l.version >= 5 {
		l.addr = int(r.U8())
		r.U8() // segment_selector_size
	}
	length := r.Uint(l.offset)
	program := uint64(r.Offset()) + length
	l.minInsn, l.maxOps = uint64(r.U8()), 1
	if l.version >= 4 {
		l.maxOps = max(1, uint64(r.U8()))
	}
	r.U8() // default_is_stmt
	l.lineBase, l.lineRange = int64(int8(r.U8())), uint64(r.U8())
	l.opcodeBase = r.U8()
	l.lengths = r.Bytes(uint64(max(1, l.opcodeBase) - 1))
	if r.Err() != nil || l.lineRange == 0 || program < length {
		return false
	}
	if l.version >= 5 {
		l.dirs = l.entries(dir)
		l.table.files = l.entries("")
	} else {
		l.oldEntries(dir)
	}
	r.Seek(program)
	return r.Err() == nil
}

// oldEntries reads the directories and files of DWARF 2 to 4, which begin at 1;
// directory 0 is the unit's.
func (l *lineReader) oldEntries(dir string) {
	r := &l.r
	l.table.firstFile = 1
	l.dirs = []string{dir}
	for s := r.CString(); s != ""; s = r.CString() {
		l.dirs = append(l.dirs, join(dir, s))
	}
	for s := r.CString(); s != ""; s = r.CString() {
		l.addFile(s, r.ULEB())
		r.ULEB() // time
		r.ULEB() // length
	}
}

func (l *lineReader) addFile(name string, dir uint64) {
	if dir < uint64(len(l.dirs)) {
		name = join(l.dirs[dir], name)
	}
	l.table.files = append(l.table.files, name)
}
