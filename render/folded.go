package render

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/report"
)

// Stacks counts equal stacks over many reports, for flame graphs and for pprof. The zero
// value is empty. Memory is taken for each different stack only.
type Stacks struct {
	known map[string]*stack
	list  []*stack
	sum   int
}

// stack is the stack that several threads have in common: the program's name, and the places,
// outermost first.
type stack struct {
	program string
	places  []stackPlace
	count   int
}

// stackPlace is a function, or an inlined function; a module and an offset where the function has
// no name.
type stackPlace struct {
	name, file string
	line       int
	address    uint64
	module     stackModule
}

type stackModule struct {
	name, buildID string
	lo, hi        uint64
}

// Add counts the stacks of a report's threads. A guessed frame is marked by a "?" behind its name;
// the frames further out may be wrong as well.
func (s *Stacks) Add(r *report.Report) {
	if r.Snapshot == nil {
		return
	}
	if s.known == nil {
		s.known = make(map[string]*stack)
	}
	for i := range r.Threads {
		th := &r.Threads[i]
		if len(th.Frames) == 0 {
			continue
		}
		st := newStack(r, th)
		key := st.line()
		if s.known[key] == nil {
			s.known[key] = st
			s.list = append(s.list, st)
		}
		s.known[key].count++
		s.sum++
	}
}

// AppendFolded appends the stacks in the form that flamegraph.pl, speedscope and inferno read,
// one a line: program;outermost;…;innermost count.
func (s *Stacks) AppendFolded(dst []byte) []byte {
	for _, st := range s.list {
		dst = append(append(dst, st.line()...), ' ')
		dst = append(strconv.AppendInt(dst, int64(st.count), 10), '\n')
	}
	return dst
}

func (st *stack) line() string {
	parts := make([]string, 0, len(st.places)+1)
	if st.program != "" {
		parts = append(parts, st.program)
	}
	for i := range st.places {
		parts = append(parts, st.places[i].name)
	}
	return strings.Join(parts, ";")
}

// newStack makes the stack of a thread.
func newStack(r *report.Report, th *report.Thread) *stack {
	st := &stack{program: foldedName(programName(r.Snapshot))}
	for i := th.Count() - 1; i >= 0; i-- {
		f := numbered(th, i)
		module := moduleOf(f)
		name, address := foldedName(functionName(f)), f.CallSite
		st.places = append(st.places, stackPlace{name, f.File, f.Line, address, module})
		for k := len(f.Inlines) - 1; k >= 0; k-- {
			in := &f.Inlines[k]
			st.places = append(st.places, stackPlace{foldedName(orUnknown(in.Function)), in.File, in.Line, address, module})
		}
	}
	return st
}

// functionName is a frame's function without the offset, so that stacks which differ in offsets
// only count as equal. It is module and offset where the function has no name.
func functionName(f *report.Frame) string {
	name := f.Function
	if name == "" {
		name = frameName(f)
	}
	if tag, _ := doubt(f); strings.HasSuffix(tag, "?]") {
		name += "?"
	}
	return name
}

// foldedName is a name without the characters that separate names in folded stacks.
func foldedName(name string) string {
	return strings.NewReplacer(";", ":", "\n", " ").Replace(Text(name))
}
