// Package table compiles an image's unwind rules into an interval table, which is
// searched without parsing anything, and keeps it in a file.
//
//	PC ─► group of 64 KB ─► page of 256 bytes ─► row: the last that begins at or below PC ─► rule
//
// A row holds up to the next row; neighbours with equal rules are one row. Addresses for
// which no source has a rule, or a rule that packed.Rule cannot say, have rows too.
//
// A row takes two bytes: the low byte of the address where it begins, and the number of its
// rule. Rules are numbered by how many rows have them, the most frequent first, so that
// seven bits suffice for nearly all rows; the rules of other rows are in a list by row. The
// eighth bit says that a function begins at the row, by the source of the rule.
//
// A row answers for the source that its rule comes from (Before): a walk with a table finds
// the same frames, by the same methods, as a walk without.
package table

import (
	"encoding/binary"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

const originSize = 4 // in a file, of what a rule says beside packed.Rule

const (
	pageShift  = 8
	groupShift = 16
	pages      = 1 << (groupShift - pageShift) // of a group
	lowMask    = 1<<pageShift - 1
)

// What the byte of a row says beyond the number of a rule.
const (
	begins    = 0x80 // a function begins here
	rare      = 125  // the rule's number is in the list of rare rules
	elsewhere = 126  // the source has a rule that packed.Rule cannot say
	gap       = 127  // no source has a rule
)

// Table is an image's rules. Its slices may be a mapped file.
type Table struct {
	arch *cpu.Arch
	head header
	parts
}

// parts are the arrays of a table:
//
//	rules   16 bytes each: packed.Rule
//	origins  4 bytes a rule: method, mode, flags (16 bits)
//	groups   8 bytes each, sorted: number, first row; and an end mark
//	pages  512 bytes a group: for each page, how many rows of the group lie before it
//	rares    8 bytes each, sorted: row, rule
//	lows     a byte a row
//	kinds    a byte a row
type parts struct{ rules, origins, groups, pages, rares, lows, kinds []byte }

// header counts what is in a table.
type header struct {
	base                              uint64 // of group 0
	rules, groups, rares, rows, funcs uint32
}

// sizes are the lengths of the parts in bytes.
func (h *header) sizes() [7]uint64 {
	rules, groups, rows := uint64(h.rules), uint64(h.groups), uint64(h.rows)
	return [...]uint64{packed.Size * rules, originSize * rules, 8 * (groups + 1), 2 * pages * groups, 8 * uint64(h.rares), rows, rows}
}

func (p *parts) all() [7]*[]byte {
	return [...]*[]byte{&p.rules, &p.origins, &p.groups, &p.pages, &p.rares, &p.lows, &p.kinds}
}

func u32(b []byte, i int) int { return int(binary.LittleEndian.Uint32(b[4*i:])) }

// Row is what a table says of a place.
type Row struct {
	Rule   packed.Rule
	Method unwind.Method // of the source that the rule comes from
	Flags  stackwalk.RuleFlags
	// Start is where the function begins, where Flags has StartStated.
	Start uint64
	mode  uint8
}

// holds tells whether the row is of code in a mode.
func (r *Row) holds(mode cpu.Mode) bool { return r.mode == anyMode || r.mode == uint8(mode)&1+1 }

// Mode is the mode of the row's code; false where the row's source knows no modes.
func (r *Row) Mode() (cpu.Mode, bool) { return cpu.Mode(r.mode - 1), r.mode != anyMode }

// anyMode is Row.mode where the source knows no modes; else Row.mode is the mode plus one.
const anyMode = 0

// Lookup finds the row of an image address. The verdict is NotCovered in gaps, and
// Unsupported where a source has a rule that the table cannot hold.
func (t *Table) Lookup(pc uint64, out *Row) unwind.Verdict {
	row := t.find(pc)
	if row < 0 || row >= len(t.kinds) {
		return unwind.NotCovered
	}
	return t.at(row, out)
}

// find is the last row that begins at or below pc, negative if none.
func (t *Table) find(pc uint64) int {
	n := (pc - t.head.base) >> groupShift
	if pc < t.head.base || n > 1<<32-1 {
		return -1
	}
	g := sort.Search(int(t.head.groups), func(g int) bool { return u32(t.groups, 2*g) > int(n) }) - 1
	if g < 0 {
		return -1
	}
	first, end := u32(t.groups, 2*g+1), u32(t.groups, 2*g+3)
	if u32(t.groups, 2*g) < int(n) {
		return end - 1
	}
	page := g*pages + int(pc>>pageShift)%pages
	row := first + t.before(page)
	if (page+1)%pages != 0 {
		end = min(end, first+t.before(page+1))
	}
	for row < end && uint64(t.lows[row]) <= pc&lowMask {
		row++
	}
	return row - 1
}

func (t *Table) before(page int) int { return int(binary.LittleEndian.Uint16(t.pages[2*page:])) }

// at is the row of a number.
func (t *Table) at(row int, out *Row) unwind.Verdict {
	rule := int(t.kinds[row] &^ begins)
	switch rule {
	case gap:
		return unwind.NotCovered
	case elsewhere:
		return unwind.Unsupported
	case rare:
		n := int(t.head.rares)
		i := sort.Search(n, func(i int) bool { return u32(t.rares, 2*i) >= row })
		if i == n || u32(t.rares, 2*i) != row {
			return unwind.Malformed
		}
		rule = u32(t.rares, 2*i+1)
	}
	if rule >= int(t.head.rules) {
		return unwind.Malformed
	}
	out.Rule = packed.Read((*[packed.Size]byte)(t.rules[packed.Size*rule:]))
	origin := t.origins[originSize*rule:]
	out.Method, out.mode = unwind.Method(origin[0]), origin[1]
	out.Flags = stackwalk.RuleFlags(binary.LittleEndian.Uint16(origin[2:]))
	if out.Flags&stackwalk.StartStated != 0 {
		return t.start(row, out)
	}
	return unwind.Found
}

// start finds where the function of a row begins.
func (t *Table) start(row int, out *Row) unwind.Verdict {
	for row >= 0 && t.kinds[row]&begins == 0 {
		row--
	}
	if row < 0 {
		return unwind.Malformed
	}
	g := sort.Search(int(t.head.groups), func(g int) bool { return u32(t.groups, 2*g+1) > row }) - 1
	if g < 0 {
		return unwind.Malformed
	}
	in := row - u32(t.groups, 2*g+1)
	page := sort.Search(pages, func(p int) bool { return t.before(g*pages+p) > in }) - 1
	if page < 0 {
		return unwind.Malformed
	}
	out.Start = t.head.base + uint64(u32(t.groups, 2*g))<<groupShift + uint64(page)<<pageShift + uint64(t.lows[row])
	return unwind.Found
}

// Stats are a table's figures.
type Stats struct {
	// Functions counts the functions that have a row where they begin.
	Functions, Rows, Rules, Bytes int
}

// Stats counts.
func (t *Table) Stats() Stats {
	s := Stats{int(t.head.funcs), int(t.head.rows), int(t.head.rules), headerSize}
	for _, n := range t.head.sizes() {
		s.Bytes += int(n)
	}
	return s
}

// Before returns a source that answers what src answers: from the image's table where the
// table has a row of src, else by asking src. of is called for every question and returns
// the table of an image, nil if there is none.
func Before(src stackwalk.RuleSource, of func(*image.Image) *Table) stackwalk.RuleSource {
	return &before{src, of}
}

type before struct {
	stackwalk.RuleSource
	of func(*image.Image) *Table
}

// Rule implements stackwalk.RuleSource.
func (b *before) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.Try == 0 && !q.HasEntry {
		if t := b.of(q.Image); t != nil && t.rule(q, b.Method(), out) {
			return unwind.Found
		}
	}
	return b.RuleSource.Rule(q, out)
}

// rule answers for the source of method m, if the row is of that source.
func (t *Table) rule(q *stackwalk.Query, m unwind.Method, out *stackwalk.Rule) bool {
	var r Row
	if t.Lookup(q.PC, &r) != unwind.Found || r.Method != m || !r.holds(q.Mode) {
		return false
	}
	if m == unwind.MethodEHABI && q.Exact {
		return false // the source knows where functions begin, and that nothing is done there yet
	}
	r.Rule.Unpack(t.arch, out)
	out.Flags |= r.Flags
	out.Start = r.Start
	if m == unwind.MethodCompact && q.Exact {
		out.Flags |= stackwalk.Fallback // it describes frames at calls only
	}
	return true
}
