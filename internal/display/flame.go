package display

import (
	"cmp"
	"github.com/backsight/backsight/internal/typeset"
	"slices"
	"strconv"
	"strings"
)

// flameNode is a function below the functions that called it, and how many stacks have that.
type flameNode struct {
	name, module string
	count        int
	called       map[string]*flameNode
}

// Bounds of a flame graph: what fewer than one of flameShare stacks have is not seen on a screen; browsers nest some 500 elements,
// two for each level.
const flameShare, maxFlameDepth = 2000, 200

// AppendFlame appends the stacks as a web page with a flame graph, which needs nothing else. The outermost functions stand above.
func (s *Stacks) AppendFlame(dst []byte, title string) []byte {
	root := &flameNode{name: "all"}
	for i := range s.list {
		s.addTo(root, &s.list[i])
	}
	dst = appendFlameHead(dst, title, strconv.Itoa(root.count)+" stacks", strconv.Itoa(len(s.list))+" different ones")
	f := flame{all: root.count, colors: map[string]int{}}
	return appendFlameTail(f.append(dst, root, root.count))
}

// appendFlameHead begins a page with a chart of nested functions, above which stand facts and a search; appendFlameTail ends it.
func appendFlameHead(dst []byte, title string, facts ...string) []byte {
	dst = typeset.AppendPageHead(dst, title)
	dst = typeset.AppendMarkup(typeset.AppendMarkup(append(dst, "<style>"...), typeset.PageFile("flame.css")), "</style>\n<article>\n<header>\n<h1>{}</h1>\n", title)
	dst = append(dst, `<p class="facts">`...)
	for _, fact := range facts {
		dst = typeset.AppendMarkup(dst, "<span>{}</span> ", fact)
	}
	return typeset.AppendMarkup(dst, `<label>Search <input id="search" type="search"></label> <output id="found"></output></p>`+
		"\n</header>\n<div class=\"card\" id=\"flame\">\n")
}

func appendFlameTail(dst []byte) []byte {
	dst = typeset.AppendMarkup(dst, "</div>\n</article>\n<script>")
	return typeset.AppendMarkup(typeset.AppendMarkup(dst, typeset.PageFile("flame.js")), "</script>\n</body>\n</html>\n")
}

// addTo adds a stack below a node.
func (s *Stacks) addTo(n *flameNode, st *stack) {
	n.count += st.count
	if program := s.texts.list[st.program]; program != "" {
		n = n.call(program, "", st.count)
	}
	depth := 0
	for _, f := range s.of(st) {
		for _, at := range s.parts[f.first:f.end] {
			if depth++; depth == maxFlameDepth {
				n.call("…", "", st.count)
				return
			}
			n = n.call(at.name, at.module.name, st.count)
		}
	}
}

// call is the node of a function that n's calls.
func (n *flameNode) call(name, module string, count int) *flameNode {
	if n.called == nil {
		n.called = map[string]*flameNode{}
	}
	c := n.called[name]
	if c == nil {
		c = &flameNode{name: name, module: module}
		n.called[name] = c
	}
	c.count += count
	return c
}

// flame is a graph that is written.
type flame struct {
	all    int
	colors map[string]int // of modules, in the order in which they came
}

// flameColors is how many colours modules have.
const flameColors = 8

// append appends a node, as wide as its share of the node above, and what it calls.
func (f *flame) append(dst []byte, n *flameNode, above int) []byte {
	color, ok := f.colors[n.module]
	if !ok {
		color = len(f.colors) % flameColors
		f.colors[n.module] = color
	}
	class := "c" + strconv.Itoa(color)
	if strings.HasSuffix(n.name, "?") {
		class = "guess"
	}
	dst = typeset.AppendMarkup(dst, `<div class="n" style="width:{}%" data-n="{}"><button class="{}" title="{} ({}, {} %) {}">{}</button>`,
		percent(n.count, above), strconv.Itoa(n.count), class, n.name, strconv.Itoa(n.count), percent(n.count, f.all), n.module, n.name)
	called := make([]*flameNode, 0, len(n.called))
	for _, c := range n.called {
		if c.count*flameShare >= f.all {
			called = append(called, c)
		}
	}
	slices.SortFunc(called, func(a, b *flameNode) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name)) })
	if len(called) > 0 {
		dst = append(dst, "<div>"...)
		for _, c := range called {
			dst = f.append(dst, c, n.count)
		}
		dst = append(dst, "</div>"...)
	}
	return append(dst, "</div>\n"...)
}

func percent(part, of int) string {
	return strconv.FormatFloat(100*float64(part)/float64(max(of, 1)), 'f', 2, 64)
}
