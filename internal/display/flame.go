package display

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/typeset"
)

// Bounds of a flame graph: what fewer than one of flameShare stacks have is not seen on a screen; browsers nest some 500 elements,
// two for each level.
const flameShare, maxFlameDepth = 2000, 200

// AppendFlame appends the stacks as a web page with a flame graph, which needs nothing else. The outermost functions stand above.
func (s *Stacks) AppendFlame(dst []byte, title string) []byte {
	different := s.byText()
	f := flame{colors: map[string]int{}}
	f.addAll(s, different)
	f.order()
	dst = appendFlameHead(dst, title, strconv.Itoa(f.all)+" stacks", strconv.Itoa(len(different.ends))+" different ones")
	return appendFlameTail(f.append(dst, topCall))
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

// flame is a graph: the tree of names, of programs, functions and inlined functions.
type flame struct {
	calls   numbered[call]
	names   texts
	counts  []uint32       // of the calls: the stacks that have them, once all were added
	modules []string       // of the calls
	all     int            // stacks
	sorted  []uint32       // the calls: those below one call together, most stacks first
	colors  map[string]int // of modules, in the order in which they came
}

// addAll adds the stacks of a tree of frames.
func (f *flame) addAll(s *Stacks, stacks *callTree) {
	calls := stacks.calls.list
	at, depths := make([]uint32, len(calls)), make([]int, len(calls)) // the frames' numbers in f.calls
	several := len(s.events()) > 1
	for i, c := range calls {
		if c.above == topCall {
			at[i] = topCall
			for _, name := range s.outermost(c.what, several) {
				at[i] = f.number(at[i], name, "")
			}
			continue
		}
		at[i], depths[i] = at[c.above], depths[c.above]
		for _, part := range s.partsOf(c.what) {
			if depths[i]++; depths[i] < maxFlameDepth {
				at[i] = f.number(at[i], part.name, part.module.name)
			} else if depths[i] == maxFlameDepth {
				at[i] = f.number(at[i], "…", "")
			}
		}
	}
	for _, end := range stacks.ends {
		f.all += int(stacks.counts[end])
		f.counts[at[end]] += stacks.counts[end]
	}
	for i, c := range slices.Backward(f.calls.list) { // above is before below
		if c.above != topCall {
			f.counts[c.above] += f.counts[i]
		}
	}
}

// number is that of a function below a call.
func (f *flame) number(above uint32, name, module string) uint32 {
	n := f.calls.number(call{above, f.names.number(name)})
	if int(n) == len(f.modules) {
		f.modules, f.counts = append(f.modules, module), append(f.counts, 0)
	}
	return n
}

// order sorts the calls.
func (f *flame) order() {
	for i, count := range f.counts {
		if int(count)*flameShare >= f.all {
			f.sorted = append(f.sorted, uint32(i))
		}
	}
	slices.SortFunc(f.sorted, func(a, b uint32) int {
		x, y := f.calls.list[a], f.calls.list[b]
		return cmp.Or(cmp.Compare(x.above, y.above), cmp.Compare(f.counts[b], f.counts[a]), cmp.Compare(f.names.list[x.what], f.names.list[y.what]))
	})
}

// below are the calls below a call.
func (f *flame) below(above uint32) []uint32 {
	find := func(n uint32) int {
		i, _ := slices.BinarySearchFunc(f.sorted, n, func(a, above uint32) int { return cmp.Compare(f.calls.list[a].above, above) })
		return i
	}
	if above == topCall {
		return f.sorted[find(above):]
	}
	return f.sorted[find(above):find(above+1)]
}

// flameColors is how many colours modules have.
const flameColors = 8

// append appends a call, as wide as its share of the call above, and those below.
func (f *flame) append(dst []byte, n uint32) []byte {
	name, module, count, above := "all", "", f.all, f.all
	if n != topCall {
		c := f.calls.list[n]
		name, module, count = f.names.list[c.what], f.modules[n], int(f.counts[n])
		if c.above != topCall {
			above = int(f.counts[c.above])
		}
	}
	color, ok := f.colors[module]
	if !ok {
		color = len(f.colors) % flameColors
		f.colors[module] = color
	}
	class := "c" + strconv.Itoa(color)
	if strings.HasSuffix(name, "?") {
		class = "guess"
	}
	dst = typeset.AppendMarkup(dst, `<div class="n" style="width:{}%" data-n="{}"><button class="{}" title="{} ({}, {} %) {}">{}</button>`,
		percent(count, above), strconv.Itoa(count), class, name, strconv.Itoa(count), percent(count, f.all), module, name)
	if below := f.below(n); len(below) > 0 {
		dst = append(dst, "<div>"...)
		for _, c := range below {
			dst = f.append(dst, c)
		}
		dst = append(dst, "</div>"...)
	}
	return append(dst, "</div>\n"...)
}

func percent(part, of int) string {
	return strconv.FormatFloat(100*float64(part)/float64(max(of, 1)), 'f', 2, 64)
}
