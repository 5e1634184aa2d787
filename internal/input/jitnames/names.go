// Package jitnames reads what run-times tell perf of the code that they make while a program runs: Node.js, Java, .NET, Python,
// PyPy, Julia, Wasmtime.
//
//	/tmp/perf-PID.map      a line for each function: where, how long, its name
//	jit-PID.dump           records of a binary log, which the program maps so that recordings and cores name it: of each function
//	                       when it was made, too, its code, how to unwind it, its lines
//
// Formats: Linux, tools/perf/Documentation/jit-interface.txt and jitdump-specification.txt.
package jitnames

import (
	"slices"
	"sort"
)

// function is a function that a run-time has made: its target addresses, and its name.
type function struct {
	addr, size uint64
	name       string
	*record    // what a log has besides; nil for a line of a map
}

// piece are addresses from lo to before hi at which the same functions lie, the latest last. Its list of them is never empty.
type piece struct {
	lo, hi uint64
	which  []int32
}

// index finds functions by address. No piece overlaps another.
type index struct {
	list   []*function
	pieces []piece
}

// edge is where a function begins, or is over.
type edge struct {
	at     uint64
	which  int32
	begins bool
}

// Where more than maxOpen functions reach over an address the latest are looked at, and maxKept of them are kept: code that is no longer
// used makes room for other code, for hours.
const maxOpen, maxKept = 1 << 10, 16

// newIndex orders functions, the earlier first.
func newIndex(list []*function) *index {
	edges := make([]edge, 0, 2*len(list))
	for i, f := range list {
		if f.size > 0 && f.addr+f.size > f.addr {
			edges = append(edges, edge{f.addr, int32(i), true}, edge{f.addr + f.size, int32(i), false})
		}
	}
	sort.Slice(edges, func(a, b int) bool { return edges[a].at < edges[b].at })
	out, open := &index{list: list}, []int32(nil)
	for i, e := range edges {
		k, isOpen := slices.BinarySearch(open, e.which)
		switch {
		case e.begins:
			open = append(open, 0)
			copy(open[k+1:], open[k:])
			open[k] = e.which
			open = open[max(0, len(open)-maxOpen):]
		case isOpen:
			open = slices.Delete(open, k, k+1)
		}
		if len(open) > 0 && edges[i+1].at > e.at { // the edge at which the last one ends leaves none
			out.add(e.at, edges[i+1].at, open[max(0, len(open)-maxKept):])
		}
	}
	return out
}

// add appends a piece. Pieces of the same functions that follow each other are one.
func (x *index) add(lo, hi uint64, which []int32) {
	if last := len(x.pieces) - 1; last >= 0 && x.pieces[last].hi == lo && slices.Equal(x.pieces[last].which, which) {
		x.pieces[last].hi = hi
		return
	}
	x.pieces = append(x.pieces, piece{lo, hi, slices.Clone(which)})
}

// from is the first of the pieces that end behind an address. A nil index has none.
func (x *index) from(addr uint64) []piece {
	if x == nil {
		return nil
	}
	return x.pieces[sort.Search(len(x.pieces), func(i int) bool { return x.pieces[i].hi > addr }):]
}

// piece is the one that has an address, nil for none.
func (x *index) piece(addr uint64) *piece {
	p := x.from(addr)
	if len(p) == 0 || addr < p[0].lo {
		return nil
	}
	return &p[0]
}

// named is the function at an address, nil for none: the latest; or none, if several of different names lay there and it is asked for any
// moment of a recording.
func (x *index) named(addr uint64, anyMoment bool) *function {
	p := x.piece(addr)
	if p == nil {
		return nil
	}
	latest := x.list[p.which[len(p.which)-1]]
	for _, i := range p.which {
		if anyMoment && x.list[i].name != latest.name {
			return nil
		}
	}
	return latest
}
