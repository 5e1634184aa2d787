// Package jitnames reads what run-times tell perf of the code that they make while a program runs: Node.js, Java, .NET, Python,
// PyPy, Julia, Wasmtime.
//
//	/tmp/perf-PID.map      a line for each function: where, how long, its name
//	jit-PID.dump           records of a binary log, which the program maps so that recordings and cores name it
//
// Formats: Linux, tools/perf/Documentation/jit-interface.txt and jitdump-specification.txt.
package jitnames

import (
	"sort"
)

// function is a function that a run-time has made: its target addresses, and its name.
type function struct {
	addr, size uint64
	name       string
}

// piece is code of a function: addresses from lo to before hi.
type piece struct {
	lo, hi, entry uint64
	name          string
}

// names are functions by address; no piece overlaps another.
type names []piece

// edge is where a function begins, or is over.
type edge struct {
	at     uint64
	which  int
	begins bool
}

// newNames orders functions, the earlier first. Where several lie the latest counts; or none, if their names differ and it is asked for
// any moment of a recording: code that is no longer used makes room for other code.
func newNames(list []function, anyMoment bool) names {
	edges := make([]edge, 0, 2*len(list))
	for i := range list {
		if f := &list[i]; f.size > 0 && f.addr+f.size > f.addr {
			edges = append(edges, edge{f.addr, i, true}, edge{f.addr + f.size, i, false})
		}
	}
	sort.Slice(edges, func(a, b int) bool { return edges[a].at < edges[b].at })
	var out names
	open := newHeap(len(list))
	named := map[string]int{}
	for i, e := range edges {
		if e.begins {
			open.add(e.which)
			named[list[e.which].name]++
		} else {
			open.end(e.which)
			if named[list[e.which].name]--; named[list[e.which].name] == 0 {
				delete(named, list[e.which].name)
			}
		}
		latest := open.latest()
		if i+1 == len(edges) || edges[i+1].at == e.at || latest < 0 || anyMoment && len(named) > 1 {
			continue
		}
		out = out.with(piece{e.at, edges[i+1].at, list[latest].addr, list[latest].name})
	}
	return out
}

// with appends a piece. Pieces of one function that follow each other are one.
func (n names) with(p piece) names {
	if last := len(n) - 1; last >= 0 && n[last].hi == p.lo && n[last].entry == p.entry && n[last].name == p.name {
		n[last].hi = p.hi
		return n
	}
	return append(n, p)
}

// at is the piece that has an address.
func (n names) at(addr uint64) (p piece, ok bool) {
	i := sort.Search(len(n), func(i int) bool { return n[i].hi > addr })
	if i == len(n) || addr < n[i].lo {
		return p, false
	}
	return n[i], true
}
