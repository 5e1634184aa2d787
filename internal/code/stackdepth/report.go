package stackdepth

import (
	"cmp"
	"context"
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/code/stackuse"
)

// Report is how deep the stacks of a program get. All sizes are bytes, addresses those of the image.
type Report struct {
	// Functions are all that were analysed, by address.
	Functions []Function
	// Roots are where stacks begin, the deepest first, at most 1000.
	Roots []Root
	// Open is what is not known; roots and functions name its numbers. Below are those of all that is below some root.
	Open  []Open
	Below []int
	// Unknown are the names in annotations that no function has.
	Unknown []string
	// Calls is how many calls there are, Pointers how many of them go through pointers that the code does not resolve.
	Calls, Pointers int
	// Issue says why not all functions were analysed, "" where they were.
	Issue string
	// Tree has the calls, for a chart.
	Tree *Tree
}

// Function is one function's stack.
type Function struct {
	Name string
	At   uint64
	// Own is what the function takes by itself, Depth with all that it calls.
	Own, Depth int64
	// Dynamic: some of Own is computed while the program runs.
	Dynamic bool
	// Recursive: the function is part of a recursion.
	Recursive bool
	// Open is how many things are not known of the function itself.
	Open int
}

// Root is where a stack begins.
type Root struct {
	Name string
	At   uint64
	Kind string
	// Depth is how deep the stack gets: the deepest path, and what interrupts add.
	Depth int64
	Path  []Frame
	// Interrupts are the handlers that may run on this stack at the same time. Switched is what an interrupt and the switch to
	// another task leave on a task's stack.
	Interrupts []Interrupt
	Switched   int64
	// Stack is the size of the stack, 0 where it is not known, and From where that was found.
	Stack uint64
	From  string
	// OpenCount is how much is not known below the root: nothing, and Depth is a bound. Open are the numbers of the first of that.
	OpenCount int
	Open      []int
}

// Frame is a function on the deepest path.
type Frame struct {
	Name string
	At   uint64
	// Bytes is what the frame takes up to the next function's; Site the call of that, 0 for the last one.
	Bytes int64
	Site  uint64
	// How the call leads to the next function, "" for the last one.
	How string
	// Times is how many frames each function of a recursion has at most, 0 outside of bounded ones.
	Times int64
}

// Interrupt is a handler that may run on a stack.
type Interrupt struct {
	Name  string
	At    uint64
	Bytes int64 // what the processor pushes, and the handler's deepest path
	// Priority is what the user says, -1: nobody does.
	Priority int64
}

// Options are what a report is made from besides the image.
type Options struct {
	Annotations *Annotations
	// Tables tell what unwind tables know of functions.
	Tables *discover.Tables
	// Exceptions tells where exceptions enter functions, by such tables.
	Exceptions stackuse.Exceptions
	// Progress, if not nil, is told how many functions are done.
	Progress func(done int)
}

// Make analyses an image. The error is that of ctx, or that the image's file cannot be read any more.
func Make(ctx context.Context, img *image.Image, opt Options) (*Report, error) {
	notes := opt.Annotations
	if notes == nil {
		notes = &Annotations{}
	}
	code := analyses.Of(img, opt.Tables)
	vectors := findVectors(code)
	gather := gatherer{ctx: ctx, code: code, seen: disasm.NewSet(code.Code), budget: bound(img),
		exceptions: opt.Exceptions, said: opt.Progress}
	for _, key := range code.Entries.Starts() {
		if at := code.Addr(key); beginsAt(code, at) && !isStub(code, at) {
			gather.want(at)
		}
	}
	for i := range vectors.handlers {
		gather.want(vectors.handlers[i].at)
	}
	left, err := gather.run()
	if err != nil {
		return nil, err
	}
	g := newGraph(code, gather.uses, left, notes)
	r := &Report{Unknown: g.annotate()}
	g.openFrames()
	tasks := findTasks(g)
	g.take(func(at disasm.Addr) bool {
		return vectors.has(at) || vectors.begins(code, at) || slices.ContainsFunc(tasks, func(t task) bool { return t.at == at })
	})
	g.link()
	g.findCycles()
	roots := g.roots(vectors, tasks)
	g.deepen(entries(roots))
	if len(left) > 0 {
		r.Issue = gather.budget.Err().Error()
	}
	r.fill(g, roots, vectors)
	return r, ctx.Err()
}

// fill puts the results into the report.
func (r *Report) fill(g *graph, roots []root, v *vectors) {
	r.Open, r.Tree = g.opens, &Tree{g: g}
	for i := range g.nodes {
		n := &g.nodes[i]
		for k := range n.use.Calls {
			r.Calls++
			if c := &n.use.Calls[k]; len(c.To) == 0 && c.Import == "" {
				r.Pointers++
			}
		}
		if n.use.Entry != (disasm.Addr{}) || n.use.Steps > 0 {
			r.Functions = append(r.Functions, Function{Name: n.name, At: n.use.Entry.PC, Own: n.use.Own + n.extra, Depth: n.depth,
				Dynamic: n.use.Dynamic, Recursive: n.cycle > 0, Open: len(n.open)})
		}
	}
	slices.SortStableFunc(roots, func(a, b root) int { return cmp.Compare(g.nodes[b.node].depth, g.nodes[a.node].depth) })
	for i := range roots[:min(maxRoots, len(roots))] {
		r.Roots = append(r.Roots, g.root(&roots[i], v))
	}
	r.Below = g.openBelow(entries(roots))
	slices.SortStableFunc(r.Roots, func(a, b Root) int { return cmp.Compare(b.Depth, a.Depth) })
}

// maxRoots bounds the roots that are told of: a library has some ten thousand functions that nothing in it calls.
const maxRoots = 1000

// root tells of one root.
func (g *graph) root(x *root, v *vectors) Root {
	n := &g.nodes[x.node]
	out := Root{Name: cmp.Or(x.name, n.name), At: n.use.Entry.PC, Kind: x.kind, Depth: n.depth + x.extra, Switched: x.extra, Stack: x.size, From: x.from,
		Path: g.path(x.node)}
	from := []int{x.node}
	if x.interrupted {
		out.Interrupts = v.on(g, x)
		for i := range out.Interrupts {
			out.Depth += out.Interrupts[i].Bytes
		}
		for _, h := range v.handlers {
			if k, ok := g.at(h.at); ok && !x.banked {
				from = append(from, k)
			}
		}
	}
	open := g.openBelow(from)
	out.OpenCount = len(open)
	out.Open = slices.Clone(open[:min(maxRootOpen, len(open))])
	return out
}

// maxRootOpen bounds the numbers that are listed for a root: hundreds of system calls have thousands of things in common.
const maxRootOpen = 100

// maxPath bounds the frames of a path.
const maxPath = 1 << 12

// path is the deepest path from a node.
func (g *graph) path(i int) (list []Frame) {
	for range maxPath {
		n := &g.nodes[i]
		if n.cycle > 0 && g.cycles[n.cycle-1].frames > 0 {
			c := &g.cycles[n.cycle-1]
			if c.bytes > 0 {
				list = append(list, Frame{Name: n.name, At: n.use.Entry.PC, Bytes: c.bytes, Times: c.frames, How: "recursion"})
			}
			i = c.exit
			n = &g.nodes[i]
		}
		if n.next < 0 {
			return append(list, Frame{Name: n.name, At: n.use.Entry.PC, Bytes: n.leafBytes()})
		}
		e := &n.edges[n.next]
		if i != g.pointer || i == 0 {
			list = append(list, Frame{Name: n.name, At: n.use.Entry.PC, Bytes: e.depth, Site: e.site, How: e.how.String()})
		}
		i = e.to
	}
	return list
}

func (n *node) leafBytes() int64 {
	if n.bound >= 0 {
		return n.bound
	}
	return n.use.Reach + n.extra
}

// openBelow are the numbers of what is open in the functions that some nodes lead to.
func (g *graph) openBelow(from []int) (list []int) {
	met, todo := make([]bool, len(g.loops)), []int{}
	for _, i := range from {
		todo = append(todo, g.nodes[i].loop)
	}
	for len(todo) > 0 {
		l := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !met[l] {
			met[l] = true
			list = append(list, g.loops[l].open...)
			todo = append(todo, g.loops[l].calls...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
