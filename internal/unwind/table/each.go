package table

import "github.com/backsight/backsight/unwind"

// Each calls yield for the rows in order of address, until it returns false: from lo up to hi,
// image addresses, Lookup says v and fills in row. row is valid during the call only.
func (t *Table) Each(yield func(lo, hi uint64, v unwind.Verdict, row *Row) bool) {
	var row Row
	var lo uint64
	at := -1 // the row that begins at lo
	more := t.eachAddr(func(i int, addr uint64) bool {
		if at >= 0 {
			row = Row{}
			if v := t.at(at, &row); !yield(lo, addr, v, &row) {
				return false
			}
		}
		at, lo = i, addr
		return true
	})
	if more && at >= 0 {
		row = Row{}
		yield(lo, ^uint64(0), t.at(at, &row), &row)
	}
}

// eachAddr calls yield for each row and the address where the row begins, until yield returns
// false, which is reported.
func (t *Table) eachAddr(yield func(row int, addr uint64) bool) bool {
	for g := range int(t.head.groups) {
		first, end := u32(t.groups, 2*g+1), u32(t.groups, 2*g+3)
		base := t.head.base + uint64(u32(t.groups, 2*g))<<groupShift
		page := 0
		for row := first; row < end; row++ {
			for page+1 < pages && first+t.before(g*pages+page+1) <= row {
				page++
			}
			if !yield(row, base+uint64(page)<<pageShift+uint64(t.lows[row])) {
				return false
			}
		}
	}
	return true
}
