package stackdepth

// components numbers the strongly connected components of the graph whose edges follow allows, from 0 on: a component that an
// edge leads to has a lower number than the one that the edge comes from (Tarjan, "Depth-first search and linear graph
// algorithms", 1972). It does not recurse, for the graph may be as deep as it is large.
func (g *graph) components(follow func(e *edge) bool) (of []int, count int) {
	t := tarjan{g: g, follow: follow, of: make([]int, len(g.nodes)), order: make([]int, len(g.nodes)), low: make([]int, len(g.nodes))}
	for i := range t.of {
		t.of[i] = -1
	}
	for i := range g.nodes {
		if t.order[i] == 0 {
			t.visit(i)
		}
	}
	return t.of, t.count
}

type tarjan struct {
	g      *graph
	follow func(e *edge) bool
	of     []int // components, -1: not known yet
	order  []int // in which nodes were met, from 1 on
	low    []int
	met    int
	open   []int // nodes whose component is not known yet
	count  int
}

// step is a node that is being visited, and its next edge.
type step struct{ node, next int }

func (t *tarjan) visit(root int) {
	path := []step{t.enter(root)}
	for len(path) > 0 {
		s := &path[len(path)-1]
		edges := t.g.nodes[s.node].edges
		if s.next < len(edges) {
			e := &edges[s.next]
			s.next++
			switch {
			case !t.follow(e):
			case t.order[e.to] == 0:
				path = append(path, t.enter(e.to))
			case t.of[e.to] < 0:
				t.low[s.node] = min(t.low[s.node], t.order[e.to])
			}
			continue
		}
		done := s.node
		path = path[:len(path)-1]
		if len(path) > 0 {
			up := path[len(path)-1].node
			t.low[up] = min(t.low[up], t.low[done])
		}
		if t.low[done] == t.order[done] {
			t.close(done)
		}
	}
}

func (t *tarjan) enter(i int) step {
	t.met++
	t.order[i], t.low[i] = t.met, t.met
	t.open = append(t.open, i)
	return step{node: i}
}

// close gives the nodes of a component its number.
func (t *tarjan) close(first int) {
	for {
		i := t.open[len(t.open)-1]
		t.open = t.open[:len(t.open)-1]
		t.of[i] = t.count
		if i == first {
			t.count++
			return
		}
	}
}
