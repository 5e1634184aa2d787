package stackdepth

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/stackuse"
)

// find is the function that an annotation names.
func (g *graph) find(name string) (disasm.Addr, bool) {
	if rest, ok := strings.CutPrefix(name, "0x"); ok {
		if v, err := strconv.ParseUint(rest, 16, 64); err == nil {
			for _, mode := range []uint64{0, 1} {
				if at, ok := g.code.Pointer(v | mode); ok && g.has(at) {
					return at, true
				}
			}
		}
	}
	sym, ok := g.code.Img.Symbols.Named(name)
	return disasm.Addr{PC: sym.Addr, Mode: sym.Mode}, ok
}

func (g *graph) has(at disasm.Addr) bool {
	_, ok := g.index[at]
	return ok
}

// annotate takes over what the user says of functions. unknown are the names that no function has.
func (g *graph) annotate() (unknown []string) {
	a := g.notes
	for i := range g.nodes {
		n := &g.nodes[i]
		if v, ok := of(a.bounds, n.name, n.use.Entry.PC); ok {
			n.bound = v
		}
		n.extra, _ = of(a.dynamics, n.name, n.use.Entry.PC)
	}
	names := []string{}
	for _, m := range []map[string]int64{a.recursions, a.dynamics, a.priorities} {
		for name := range m {
			names = append(names, name)
		}
	}
	for _, list := range a.calls {
		names = append(names, list...)
	}
	for _, r := range a.roots {
		names = append(names, r.name)
	}
	for _, name := range names {
		if _, ok := g.find(name); !ok {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}

// link makes the edges of all functions.
func (g *graph) link() {
	g.others = g.code.Img.Interpreted || slices.ContainsFunc(g.nodes, func(n node) bool {
		return slices.ContainsFunc(n.use.Calls, func(c stackuse.Call) bool { return c.Import != "" })
	})
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.bound >= 0 {
			continue
		}
		for k := range n.use.Calls {
			g.call(i, &n.use.Calls[k])
		}
		slices.SortStableFunc(n.edges, func(a, b edge) int { return cmp.Compare(a.site, b.site) })
	}
}

// call makes the edges of a call.
func (g *graph) call(from int, c *stackuse.Call) {
	switch {
	case c.Import != "":
		g.imported(from, c)
		return
	case g.annotated(from, c):
		return
	}
	how := Resolved
	switch {
	case len(c.To) == 0:
		g.through(from, c)
		return
	case !c.Sure:
		how = Table
	case len(c.To) == 1:
		how = Direct
	}
	missing := false
	for _, to := range c.To {
		if k, ok := g.at(to); ok {
			g.connect(from, c, k, how)
			continue
		}
		missing = true
	}
	if missing {
		g.open(from, Open{Kind: NotAnalysed, At: c.Site.PC, Why: "calls a function that was not analysed"})
	}
}

// annotated makes the edges that the user gives for a call through a pointer; false where none are given.
func (g *graph) annotated(from int, c *stackuse.Call) bool {
	n := &g.nodes[from]
	list, ok := g.notes.calls[hex(c.Site.PC)]
	if !ok {
		if list, ok = of(g.notes.calls, n.name, n.use.Entry.PC); !ok || c.Sure {
			return false
		}
	}
	for _, name := range list {
		at, _ := g.find(name)
		if k, ok := g.at(at); ok {
			g.connect(from, c, k, Annotated)
		}
	}
	return true
}

// imported is a call of another image's function. It takes what the user says, or is open.
func (g *graph) imported(from int, c *stackuse.Call) {
	k, ok := g.imports[c.Import]
	if !ok {
		k = len(g.nodes)
		g.imports[c.Import] = k
		x := node{use: &stackuse.Use{}, name: c.Import, bound: -1, next: -1}
		if v, ok := g.notes.bounds[c.Import]; ok {
			x.bound = v
		} else {
			x.open = []int{g.addOpen(Open{Kind: Import, Function: c.Import, Why: "a function of another file", Close: "bound " + c.Import + " BYTES"})}
		}
		g.nodes = append(g.nodes, x)
	}
	g.connect(from, c, k, Direct)
}

// maxEdges bounds the calls that are kept: a binary may be made of calls through tables.
const maxEdges = 1 << 21

// connect makes an edge.
func (g *graph) connect(from int, c *stackuse.Call, to int, how How) {
	n := &g.nodes[from]
	if g.edges++; g.edges > maxEdges {
		g.open(from, Open{Kind: NotAnalysed, At: c.Site.PC, Why: "the image has too many calls"})
		return
	}
	n.edges = append(n.edges, edge{site: c.Site.PC, depth: c.Depth + n.extra, to: to, how: how})
}

// maxOpen bounds what is listed of one function.
const maxOpen = 64

// open notes what is not known of a function, each kind of thing once for each place.
func (g *graph) open(i int, o Open) {
	n := &g.nodes[i]
	if len(n.open) >= maxOpen {
		return // there are enough for "at least"
	}
	o.Function = n.name
	if o.Close == "" {
		o.Close = "bound " + n.name + " BYTES"
	}
	if k := len(n.open); k > 0 && g.opens[n.open[k-1]] == o {
		return
	}
	n.open = append(n.open, g.addOpen(o))
}

// through is a call through a pointer of which the code does not tell where it leads.
func (g *graph) through(from int, c *stackuse.Call) {
	close := fmt.Sprintf("call %s -> NAME, NAME", hex(c.Site.PC))
	switch {
	case len(g.taken) == 0:
		g.open(from, Open{Kind: UnknownCall, At: c.Site.PC, Why: "a call through a pointer, and no pointer to a function is known", Close: close})
		return
	case g.others:
		g.open(from, Open{Kind: UnknownCall, At: c.Site.PC, Why: "a call through a pointer, which may lead into another file", Close: close})
	}
	g.connect(from, c, g.any(), Pointer)
}

// any is the node of all functions that pointers may lead to: edges from each call to each of them would be their product.
func (g *graph) any() int {
	if g.pointer == 0 {
		x := node{use: &stackuse.Use{}, name: "(any pointer)", bound: -1, next: -1}
		for _, k := range g.taken {
			x.edges = append(x.edges, edge{to: k, how: Pointer})
		}
		g.pointer = len(g.nodes)
		g.nodes = append(g.nodes, x)
	}
	return g.pointer
}

// leadsOut tells whether a function calls where the image has no code: data that looks like code.
func (g *graph) leadsOut(i int) bool {
	return slices.ContainsFunc(g.nodes[i].use.Calls, func(c stackuse.Call) bool { return len(c.To) == 1 && !g.code.Has(c.To[0].PC) })
}

// inside tells whether a place lies within a function that a symbol names: a label, or a number that is an address by chance.
func (g *graph) inside(at disasm.Addr) bool {
	sym, ok := g.code.Img.Symbols.At(at.PC)
	return ok && sym.Addr < at.PC && at.PC < sym.Addr+sym.Size
}

// take finds the functions that pointers of the image may lead to, but for those that something else than a call enters.
func (g *graph) take(entered func(disasm.Addr) bool) {
	for i := range g.nodes {
		at := g.nodes[i].use.Entry
		if !g.leadsOut(i) && beginsAt(g.code, at) && !g.inside(at) && g.code.Entries.AddressTaken(at) && !entered(at) {
			g.taken = append(g.taken, i)
		}
	}
}
