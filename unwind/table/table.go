// Package table compiles an image's unwind rules into an interval table, which is
// searched without parsing anything, and keeps it in a file.
//
//	PC ─► page of 64 KB ─► row: the last that begins at or below PC ─► rule
//
// Neighbouring rows with equal rules are one, and a function begins where the padding
// before it does. Where no source has a rule, and where
// one has what Packed cannot say, there are rows too: the former end the search, the
// latter send the reader back to the source.
//
// A row takes three bytes: the low 16 bits of where it begins, and the number of its
// rule. Rules are numbered by how many rows have them, so that one byte suffices for
// nearly all; the others are in a list of their own, by row.
package table

import (
	"encoding/binary"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/unwind"
)

const (
	pageShift = 16
	lowMask   = 1<<pageShift - 1
)

// What the byte of a row says beyond the number of a rule.
const (
	rare      = 253 // the rule is in the list of rare ones
	elsewhere = 254 // Packed cannot say it: ask the source
	gap       = 255 // no source has a rule
)

// Table is an image's rules. Its slices may be a mapped file.
type Table struct {
	arch *cpu.Arch
	head header
	// rules, 16 bytes each; pages, the first row of each, 4 bytes, and the end;
	// rares, row and rule, 4 bytes each, sorted; lows, 2 bytes a row; kinds, 1.
	rules, pages, rares, lows, kinds []byte
}

// header counts what is in a table.
type header struct {
	base                             uint64 // of the first page
	rules, pages, rares, rows, funcs uint32
}

func u32(b []byte, i int) int { return int(binary.LittleEndian.Uint32(b[4*i:])) }

func (t *Table) low(i int) uint64 { return uint64(binary.LittleEndian.Uint16(t.lows[2*i:])) }

// Lookup finds the rule at an image address. It reports NotCovered in gaps and
// Unsupported where a source has a rule that the table cannot hold.
func (t *Table) Lookup(pc uint64, out *unwind.Packed) unwind.Verdict {
	page := (pc - t.head.base) >> pageShift
	if page >= uint64(t.head.pages) {
		return unwind.NotCovered
	}
	lo, hi := u32(t.pages, int(page)), u32(t.pages, int(page)+1)
	want := (pc - t.head.base) & lowMask
	first := lo
	for lo < hi {
		if m := int(uint(lo+hi) >> 1); t.low(m) <= want {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == first {
		return unwind.NotCovered
	}
	return t.at(lo-1, out)
}

// at is the rule of a row.
func (t *Table) at(row int, out *unwind.Packed) unwind.Verdict {
	rule := int(t.kinds[row])
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
	*out = unwind.ReadPacked((*[unwind.PackedSize]byte)(t.rules[unwind.PackedSize*rule:]))
	return unwind.Found
}

// Stats are a table's figures.
type Stats struct {
	Functions, Rows, Rules, Bytes int
}

// Stats counts.
func (t *Table) Stats() Stats {
	return Stats{int(t.head.funcs), int(t.head.rows), int(t.head.rules), headerSize + int(t.head.size())}
}

// Source answers from tables, and nothing where they have gaps or rules that they
// cannot hold: the sources behind it are asked then.
type Source struct {
	// Of returns the table of an image, nil for none.
	Of func(*image.Image) *Table
}

var _ unwind.RuleSource = Source{}

// Method is MethodTable.
func (Source) Method() unwind.Method { return unwind.MethodTable }

// Rule implements unwind.RuleSource.
func (s Source) Rule(q *unwind.Query, out *unwind.Rule) unwind.Verdict {
	t := s.Of(q.Image)
	if t == nil || q.Try > 0 {
		return unwind.NotCovered
	}
	var p unwind.Packed
	v := t.Lookup(q.PC, &p)
	if v == unwind.Found {
		p.Unpack(t.arch, out)
	}
	return v
}
