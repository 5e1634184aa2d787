// Package stackdepth tells how deep the stacks of a program can get, from its code:
//
//	stackuse of each function ─► graph ─► pointers: targets of indirect calls
//	                                  ─► cycles: recursion, named and bounded
//	                                  ─► depths: the deepest path from each function
//	roots (entry point, tasks, handlers) ─► report: deepest paths, and what is open
//
// What is not known counts 0 and is listed as open, so that a depth with an open list is "at least" that much.
package stackdepth

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/stackuse"
	"github.com/backsight/backsight/internal/mapped"
)

// graph is the functions of an image with the calls between them.
type graph struct {
	code  *analyses.Image
	notes *Annotations
	nodes []node // by address
	index map[disasm.Addr]int
	// left are functions that the budget did not reach.
	left []disasm.Addr
	// taken are the functions that a pointer may lead to.
	taken []int
	opens []Open
	// imports are the nodes of functions of other images, by name; pointer is the node any, 0 where there is none.
	imports map[string]int
	pointer int
	// others: functions of other files run in the program.
	others bool
	edges  int
	cycles []cycle
	loops  []loop
}

// node is a function, or all that a call through some pointer may lead to.
type node struct {
	use   *stackuse.Use
	name  string
	edges []edge
	// open are the numbers of what is not known of the function itself.
	open []int
	// bound is the depth that the user gives the function and all that it calls, -1 for none.
	bound int64
	// extra is what the user adds for what the program computes.
	extra int64
	// cycle is the recursion that the function belongs to, counted from 1 on; 0 for none.
	cycle int
	// loop is the number of the part of the graph within which pointers may lead from each function to each other one.
	loop  int
	depth int64 // of the deepest path
	next  int   // the edge that this begins with, -1: the path ends here
}

// edge is a call from one function to another.
type edge struct {
	site  uint64
	depth int64
	to    int
	how   How
}

// How says how surely a call leads to a function.
type How uint8

const (
	// Direct: the instruction names the function.
	Direct How = iota
	// Resolved: the code shows that the pointer leads there.
	Resolved
	// Table: the pointer is an element of a table in the image, among others.
	Table
	// Pointer: some pointer of the image leads there, and may be the one.
	Pointer
	// Annotated: the user says so.
	Annotated
)

var hows = [...]string{"call", "resolved", "table", "pointer", "annotation"}

func (h How) String() string { return hows[h] }

// assumed tells whether the call may never lead there.
func (h How) assumed() bool { return h == Table || h == Pointer }

// bound limits the work in instructions that code analysis executes.
func bound(img *image.Image) budget.Budget {
	const floor, perByte = 1 << 28, 2000
	return budget.New("instructions analysed", floor, perByte*img.Segments.LoadedBytes())
}

// batch is how many functions are analysed before the budget is asked again.
const batch = 256

// gatherer analyses functions, and those that they call.
type gatherer struct {
	ctx    context.Context
	code   *analyses.Image
	seen   *disasm.Set
	uses   []*stackuse.Use
	todo   []disasm.Addr
	budget budget.Budget
	// exceptions tells of landing pads.
	exceptions stackuse.Exceptions
	said       func(done int)
}

// run analyses all that is to do, a batch at a time on all cores, and returns what the budget left. The result is the same on every machine.
func (g *gatherer) run() (left []disasm.Addr, err error) {
	for len(g.todo) > 0 && g.ctx.Err() == nil {
		n := min(batch, len(g.todo))
		uses, err := g.analyse(g.todo[:n])
		if err != nil {
			return nil, err
		}
		g.todo = g.todo[n:]
		steps := 0
		for _, u := range uses {
			steps += 1 + u.Steps
			g.add(u)
		}
		if g.said != nil {
			g.said(len(g.uses))
		}
		if !g.budget.Draw(steps) {
			return g.todo, nil
		}
	}
	return nil, g.ctx.Err()
}

// add takes in a function, and what it calls.
func (g *gatherer) add(u *stackuse.Use) {
	g.uses = append(g.uses, u)
	for i := range u.Calls {
		for _, to := range u.Calls[i].To {
			g.want(to)
		}
	}
}

// want puts a function on the list once.
func (g *gatherer) want(at disasm.Addr) {
	if g.seen.Add(at) {
		g.todo = append(g.todo, at)
	}
}

// analyse analyses functions side by side. An error is that a file cannot be read any more.
func (g *gatherer) analyse(list []disasm.Addr) ([]*stackuse.Use, error) {
	uses := make([]*stackuse.Use, len(list))
	var next atomic.Int64
	var failed atomic.Pointer[error]
	work := func() {
		fault := mapped.Guard(func() {
			for i := next.Add(1) - 1; int(i) < len(list) && g.ctx.Err() == nil; i = next.Add(1) - 1 {
				uses[i] = stackuse.Of(g.code, list[i], g.exceptions)
			}
		})
		if fault != nil {
			failed.CompareAndSwap(nil, &fault)
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	if fault := failed.Load(); fault != nil {
		return nil, *fault
	}
	return slices.DeleteFunc(uses, func(u *stackuse.Use) bool { return u == nil }), nil
}

// newGraph makes the graph of functions that were analysed.
func newGraph(code *analyses.Image, uses []*stackuse.Use, left []disasm.Addr, notes *Annotations) *graph {
	slices.SortFunc(uses, func(a, b *stackuse.Use) int { return cmp.Compare(a.Entry.Key(), b.Entry.Key()) })
	g := &graph{code: code, notes: notes, nodes: make([]node, len(uses)), index: make(map[disasm.Addr]int, len(uses)), left: left,
		imports: map[string]int{}}
	for i, u := range uses {
		g.nodes[i] = node{use: u, name: nameOf(code.Img, u.Entry), bound: -1, next: -1}
		g.index[u.Entry] = i
	}
	return g
}

// nameOf is a function's name: its symbol's, else its address.
func nameOf(img *image.Image, at disasm.Addr) string {
	if sym, ok := img.Symbols.At(at.PC); ok && sym.Addr == at.PC && sym.Name != "" {
		return sym.Name
	}
	return hex(at.PC)
}

// at is the function at a place; false where none was analysed.
func (g *graph) at(to disasm.Addr) (int, bool) {
	i, ok := g.index[to]
	return i, ok
}

// beginsAt tells whether a function begins at a place that may be named by data alone.
func beginsAt(code *analyses.Image, at disasm.Addr) bool {
	return code.Entries.IsEntry(at) || code.Heights.Begins(at)
}

// isStub tells whether the stub of another file's function stands at a place: calls of it are calls of that.
func isStub(code *analyses.Image, at disasm.Addr) bool {
	slot, ok := code.Callees.StubSlot(at)
	if _, imported := code.Img.Import(slot); ok && imported {
		return true
	}
	return code.Callees.BindsLazily(at)
}
