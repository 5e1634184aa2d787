package stackdepth

// deepen computes the depth of every function: of the deepest path that begins with it. Edges that lead back to a function whose
// depth is being computed are left out; these are of recursions, or of pointers that may lead back.
// first are the functions where stacks begin: what is left out depends on where one begins to look.
func (g *graph) deepen(first []int) {
	d := deepener{g: g, state: make([]uint8, len(g.nodes))}
	for _, i := range first {
		d.visit(i)
	}
	for i := range g.nodes {
		d.visit(i)
	}
}

const (
	waiting uint8 = iota
	begun
	done
)

type deepener struct {
	g     *graph
	state []uint8
}

// visit computes a node's depth after those that it calls.
func (d *deepener) visit(root int) {
	if d.state[root] != waiting {
		return
	}
	d.state[root] = begun
	path := []step{{node: root}}
	for len(path) > 0 {
		s := &path[len(path)-1]
		edges := d.g.nodes[s.node].edges
		if s.next < len(edges) {
			to := edges[s.next].to
			s.next++
			if d.state[to] == waiting {
				d.state[to] = begun
				path = append(path, step{node: to})
			}
			continue
		}
		path = path[:len(path)-1]
		d.finish(s.node)
	}
}

// finish computes a node's depth from those that it calls. The nodes of a bounded recursion are finished together, with
// the last one.
func (d *deepener) finish(i int) {
	n := &d.g.nodes[i]
	if n.cycle > 0 {
		if c := &d.g.cycles[n.cycle-1]; c.frames > 0 {
			if c.finished++; c.finished == len(c.nodes) {
				d.closed(c)
			}
			return
		}
	}
	n.depth, n.next = d.leaf(i, 0)
	d.state[i] = done
}

// leaf is how deep a node gets by itself and through its edges that do not lead into a recursion.
func (d *deepener) leaf(i, within int) (depth int64, next int) {
	n := &d.g.nodes[i]
	if n.bound >= 0 {
		return n.bound, -1
	}
	depth, next = n.use.Reach+n.extra, -1
	for k := range n.edges {
		e := &n.edges[k]
		to := &d.g.nodes[e.to]
		if d.state[e.to] != done || within > 0 && to.cycle == within {
			continue
		}
		if total := e.depth + to.depth; total > depth {
			depth, next = total, k
		}
	}
	return depth, next
}

// closed computes the depth of a recursion that the user bounds. Each function has so many frames at most, each as deep as
// its deepest call within the recursion; the last one calls out of it.
func (d *deepener) closed(c *cycle) {
	g := d.g
	number := g.nodes[c.nodes[0]].cycle
	sum := int64(0)
	calls := make([]int64, len(c.nodes))
	for k, i := range c.nodes {
		for e := range g.nodes[i].edges {
			if g.nodes[g.nodes[i].edges[e].to].cycle == number {
				calls[k] = max(calls[k], g.nodes[i].edges[e].depth)
			}
		}
		sum += calls[k]
	}
	deepest := int64(-1)
	for k, i := range c.nodes {
		leaf, next := d.leaf(i, number)
		g.nodes[i].next = next
		if bytes := c.frames*sum - calls[k]; bytes+leaf > deepest {
			deepest, c.bytes, c.exit = bytes+leaf, bytes, i
		}
	}
	for _, i := range c.nodes {
		g.nodes[i].depth, d.state[i] = deepest, done
	}
}
