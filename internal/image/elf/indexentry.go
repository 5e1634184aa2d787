package elf

import (
	"cmp"
	"slices"
)

// entry is a symbol on the way into the index: sixteen bytes, for there are millions in
// a browser, and twice while they are sorted. detail is the rank, larger is better, in
// its four high bits, and the size below.
type entry struct {
	addr   uint64
	ref    uint32
	detail uint32
}

const (
	rankShift = 28
	manyBytes = 1<<rankShift - 1 // the size is this or more
)

func newEntry(s span) entry {
	return entry{s.addr, s.ref, uint32(s.rank)<<rankShift | uint32(min(s.end-s.addr, manyBytes))}
}

func (e *entry) rank() uint32 { return e.detail >> rankShift }

func (e *entry) sized() bool { return e.detail&manyBytes != 0 }

// end is where the symbol of an entry ends.
func (x *symbolIndex) end(e *entry) uint64 {
	if size := e.detail & manyBytes; size < manyBytes {
		return e.addr + uint64(size)
	}
	s, _ := x.tables[e.ref>>refShift].span(int(e.ref>>refShift), int(e.ref&refMask))
	return s.end
}

// sortEntries orders symbols by address, those of one address by rank and then by name, the
// best last, and of the same names the first of the tables last. A library has a hundred thousand, in the order of a hash table, and
// whoever wants one name waits for it: a radix sort takes a fifth of the time that
// comparisons do.
func (x *symbolIndex) sortEntries(entries []entry) []entry {
	differ := uint64(0)
	for i := range entries {
		differ |= entries[i].addr ^ entries[0].addr
	}
	other := make([]entry, len(entries))
	const digit = 11
	for shift := 0; differ>>shift != 0; shift += digit {
		var at [1 << digit]int
		for i := range entries {
			at[entries[i].addr>>shift%(1<<digit)]++
		}
		next := 0
		for d, n := range at {
			at[d], next = next, next+n
		}
		for i := range entries {
			d := entries[i].addr >> shift % (1 << digit)
			other[at[d]] = entries[i]
			at[d]++
		}
		entries, other = other, entries
	}
	for from := 0; from < len(entries); {
		to := from + 1
		for to < len(entries) && entries[to].addr == entries[from].addr {
			to++
		}
		if to > from+1 {
			slices.SortFunc(entries[from:to], func(a, b entry) int {
				if a.rank() != b.rank() {
					return cmp.Compare(a.rank(), b.rank())
				}
				return cmp.Or(cmp.Compare(x.nameCost(b.ref), x.nameCost(a.ref)), cmp.Compare(b.ref, a.ref))
			})
		}
		from = to
	}
	return entries
}
