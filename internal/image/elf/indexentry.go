package elf

// entry is a symbol in the index: sixteen bytes, for there are millions in a browser, and twice while they are sorted.
type entry struct {
	addr uint64
	ref  uint32
	// outer is the last entry before this one that ends behind it, counted from 1; 0: none does. Until the entries are in order it is
	// the size, manyBytes at most.
	outer uint32
}

const manyBytes = 1<<32 - 1 // the size is this or more

func newEntry(s *span) entry {
	return entry{s.addr, s.ref, uint32(min(s.end-s.addr, manyBytes))}
}

// end is where the symbol of an entry ends.
func (x *symbolIndex) end(e *entry) uint64 {
	s := x.tables[e.ref>>refShift].at(int(e.ref & refMask))
	return s.endFrom(e.addr)
}

// nest turns sizes into outer. Whoever looks for what covers an address need look at no symbol between an entry that has ended and its
// outer one: that has ended before.
func (x *symbolIndex) nest() {
	type begun struct {
		end uint64
		n   uint32
	}
	var around []begun // those that end behind the last entry, the innermost last
	for i := range x.entries {
		e := &x.entries[i]
		end := e.addr + uint64(e.outer)
		if e.outer == manyBytes {
			end = x.end(e)
		}
		for len(around) > 0 && around[len(around)-1].end <= end {
			around = around[:len(around)-1]
		}
		if e.outer = 0; len(around) > 0 {
			e.outer = around[len(around)-1].n
		}
		around = append(around, begun{end, uint32(i + 1)})
	}
}

// sortEntries orders symbols by address. A library has a hundred thousand, in the order of a hash table, and whoever wants one name
// waits for it: a radix sort takes a fifth of the time that comparisons do.
func sortEntries(entries []entry) []entry {
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
	return entries
}
