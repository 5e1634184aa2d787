package dataflow

import (
	"math"
	"slices"

	"github.com/backsight/backsight/internal/code/absint"
)

// jumpTables are the jump tables of a function that is being explored. A table ends where another
// one begins, whatever the last comparison says, which may have been of something else. i386's
// memcpy for SSSE3 compares a length with 127, and has three tables in a row:
//
//	1bf7f0   48 places, to which it jumps with ebx pushed
//	1bf8b0   16 places, to which it jumps with ebx, edi and esi pushed
//	1bf8f0   48 places like the first
type jumpTables struct {
	starts []uint64 // of all tables that were met in any pass, sorted
	// ends are where the tables end as far as they were followed in this pass without a
	// guess, by their starts.
	ends map[uint64]uint64
}

// maxMet bounds the tables that are told apart.
const maxMet = 64

// note notes a table and returns how many elements the table may have up to the beginning of the
// next known table. within: the table is new, and lies where elements of the table before were read.
func (ts *jumpTables) note(t *absint.JumpTable) (own int64, within bool) {
	i, met := slices.BinarySearch(ts.starts, t.At)
	if !met && len(ts.starts) < maxMet {
		ts.starts = slices.Insert(ts.starts, i, t.At)
		within = i > 0 && ts.ends[ts.starts[i-1]] > t.At
		met = true
	}
	if met {
		i++
	}
	if i == len(ts.starts) {
		return math.MaxInt64, within
	}
	return int64((ts.starts[i] - t.At) / uint64(t.Size)), within
}

// follow notes that element i of a table was read as a target.
func (ts *jumpTables) follow(t *absint.JumpTable, i int64) {
	if ts.ends == nil {
		ts.ends = map[uint64]uint64{}
	}
	ts.ends[t.At] = max(ts.ends[t.At], t.At+uint64(i+1)*uint64(t.Size))
}
