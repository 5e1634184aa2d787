package stackdepth

import (
	"slices"
	"strings"
)

// cycle is a recursion: functions each of which calls each other one, directly or not.
type cycle struct {
	nodes []int
	// frames is how many frames of each function are on the stack at a time, as the user says; 0: nobody does.
	frames   int64
	finished int // of nodes
	// With frames: what the recursion takes until the last function calls out of it, which is exit.
	bytes int64
	exit  int
}

// findCycles finds the recursions, and the parts of the graph in which pointers may lead back.
func (g *graph) findCycles() {
	known, n := g.components(func(e *edge) bool { return !e.how.assumed() })
	members := make([][]int, n)
	for i, c := range known {
		members[c] = append(members[c], i)
	}
	for _, list := range members {
		if len(list) > 1 || g.callsItself(list[0]) {
			g.addCycle(list)
		}
	}
	loops, count := g.components(func(*edge) bool { return true })
	for i, l := range loops {
		g.nodes[i].loop = l
	}
	g.openLoops()
	g.loops = make([]loop, count)
	for i, l := range loops {
		g.loops[l].take(&g.nodes[i], loops)
	}
}

// loop is a part of the graph within which each function leads to each other one: most are one function.
type loop struct {
	open  []int // what is not known of its functions
	calls []int // the parts that it leads to
}

// take adds a function to its part; of has the parts of all functions.
func (l *loop) take(n *node, of []int) {
	l.open = append(l.open, n.open...)
	for k := range n.edges {
		if to := of[n.edges[k].to]; to != n.loop {
			l.calls = append(l.calls, to)
		}
	}
	slices.Sort(l.calls)
	l.calls = slices.Compact(l.calls)
}

func (g *graph) callsItself(i int) bool {
	return slices.ContainsFunc(g.nodes[i].edges, func(e edge) bool { return e.to == i && !e.how.assumed() })
}

// addCycle notes a recursion, which is open unless the user bounds it.
func (g *graph) addCycle(list []int) {
	c := cycle{nodes: list}
	for _, i := range list {
		n := &g.nodes[i]
		if v, ok := of(g.notes.recursions, n.name, n.use.Entry.PC); ok {
			c.frames = v
		}
		n.cycle = len(g.cycles) + 1
	}
	if c.frames == 0 {
		first := &g.nodes[list[0]]
		for _, i := range list {
			g.nodes[i].open = append(g.nodes[i].open, len(g.opens))
		}
		g.addOpen(Open{Kind: Recursion, Function: first.name, At: first.use.Entry.PC, Why: g.members(list), Close: "recursion " + first.name + " FRAMES"})
	}
	g.cycles = append(g.cycles, c)
}

// named bounds the functions of a recursion that are named.
const named = 8

// members names the functions of a recursion.
func (g *graph) members(list []int) string {
	if len(list) == 1 {
		return "calls itself"
	}
	var b strings.Builder
	for k, i := range list[:min(named, len(list))] {
		if k > 0 {
			b.WriteString(", ")
		}
		b.WriteString(g.nodes[i].name)
	}
	if len(list) > named {
		b.WriteString(", …")
	}
	return "call each other: " + b.String()
}

// openLoops notes the calls through pointers that may lead back to the caller.
func (g *graph) openLoops() {
	for i := range g.nodes {
		if i == g.pointer && i > 0 {
			continue
		}
		n := &g.nodes[i]
		for k := range n.edges {
			e := &n.edges[k]
			if e.how.assumed() && g.nodes[e.to].loop == n.loop {
				g.open(i, Open{Kind: PossibleRecursion, At: e.site, Why: "a call through a pointer, which may lead back here",
					Close: "call " + hex(e.site) + " -> NAME, NAME"})
			}
		}
	}
}
