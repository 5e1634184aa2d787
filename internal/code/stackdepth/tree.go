package stackdepth

import (
	"cmp"
	"slices"
)

// Tree is the calls of a report, by functions.
type Tree struct{ g *graph }

// Branch is a function in the tree of calls: what it calls stands below.
type Branch struct {
	Name string
	At   uint64
	// Own is what the function itself takes, Depth with the deepest of what it calls.
	Own, Depth int64
	// Open: something is not known of the function.
	Open  bool
	Below []Branch
}

// Bounds of a tree for a chart: functions in all, those below one, and levels.
const (
	maxBranches = 4000
	maxBelow    = 12
	maxLevels   = 100
)

// Called is a function that a call may lead to.
type Called struct {
	// Name and At are the function's; At is 0 for one of another file. Both are zero where the code does not tell which.
	Name string
	At   uint64
	// Site is the address of the call. Sure: it leads nowhere else. Indirect: through a register or a word.
	Site           uint64
	Sure, Indirect bool
}

// Calls are the calls that the code of the function at an address has, in the order of the code's analysis.
func (t *Tree) Calls(at uint64) (list []Called) {
	i, ok := t.function(at)
	if !ok {
		return nil
	}
	for k := range t.g.nodes[i].use.Calls {
		c := &t.g.nodes[i].use.Calls[k]
		if len(c.To) == 0 {
			list = append(list, Called{Name: c.Import, Site: c.Site.PC, Sure: c.Sure, Indirect: c.Indirect})
		}
		for _, to := range c.To {
			list = append(list, Called{Name: nameOf(t.g.code.Img, to), At: to.PC, Site: c.Site.PC, Sure: c.Sure && len(c.To) == 1, Indirect: c.Indirect})
		}
	}
	return list
}

// function is the node of the function at an address.
func (t *Tree) function(at uint64) (int, bool) {
	i := slices.IndexFunc(t.g.nodes, func(n node) bool { return n.use.Entry.PC == at && n.use.Steps > 0 })
	return i, i >= 0
}

// Of is the tree of calls below the function at an address, the deepest first.
func (t *Tree) Of(at uint64) (b Branch, ok bool) {
	i, ok := t.function(at)
	if !ok {
		return b, false
	}
	left := maxBranches
	return t.branch(i, maxLevels, &left), true
}

func (t *Tree) branch(i, levels int, left *int) Branch {
	n := &t.g.nodes[i]
	b := Branch{Name: n.name, At: n.use.Entry.PC, Own: n.leafBytes(), Depth: n.depth, Open: len(n.open) > 0}
	*left--
	if levels == 0 || n.bound >= 0 {
		return b
	}
	for _, to := range t.called(i) {
		// An edge that was left out leads to what is deeper than this.
		if t.g.nodes[to].depth >= n.depth && n.depth > 0 || *left <= 0 || len(b.Below) == maxBelow {
			continue
		}
		b.Below = append(b.Below, t.branch(to, levels-1, left))
	}
	return b
}

// called are the nodes that a node calls, each once, the deepest first, and the targets of pointers instead of the node of all of
// them.
func (t *Tree) called(i int) (list []int) {
	for _, e := range t.g.nodes[i].edges {
		if e.to == t.g.pointer && t.g.pointer > 0 {
			for _, p := range t.g.nodes[e.to].edges {
				list = append(list, p.to)
			}
			continue
		}
		list = append(list, e.to)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(t.g.nodes[b].depth, t.g.nodes[a].depth) })
	return list
}
