package render

import (
	"encoding/binary"
	"io"
	"strconv"
	"strings"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// Stacks counts equal stacks over many reports, for flame graphs and for pprof. The zero
// value is empty. Memory is taken for each different stack and each different frame only.
type Stacks struct {
	known  map[string]*stack // by the numbers of the program's and the frames' texts
	list   []*stack
	frames map[frameKey]*stackFrame // the first of each place
	others map[namedKey]*stackFrame
	texts  map[string]uint32
	key    []byte
}

// stack is the stack that several threads have in common: the program's name, and the frames,
// outermost first.
type stack struct {
	program string
	frames  []*stackFrame
	count   int
}

// frameKey is where a frame calls, which tells what is inlined there.
type frameKey struct {
	module *target.Module
	addr   uint64
}

// givenName is what else tells frames apart, which few do: the capture may list several names for a place.
type givenName struct {
	name  string
	guess bool
}

type namedKey struct {
	frameKey
	givenName
}

// stackFrame is a frame with what was inlined there, outermost first.
type stackFrame struct {
	given  givenName
	places []stackPlace
	text   string // the names, as folded stacks have them
	number uint32 // of the text
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
		*s = Stacks{known: map[string]*stack{}, frames: map[frameKey]*stackFrame{}, others: map[namedKey]*stackFrame{}, texts: map[string]uint32{}}
	}
	program := foldedName(programName(r.Snapshot))
	for i := range r.Threads {
		if th := &r.Threads[i]; len(th.Frames) > 0 {
			s.count(program, th)
		}
	}
}

// count counts a thread's stack.
func (s *Stacks) count(program string, th *report.Thread) {
	n := th.Count()
	frames := make([]*stackFrame, 0, n)
	s.key = binary.LittleEndian.AppendUint32(s.key[:0], s.number(program))
	for i := n - 1; i >= 0; i-- {
		f := s.frame(numbered(th, i))
		frames = append(frames, f)
		s.key = binary.LittleEndian.AppendUint32(s.key, f.number)
	}
	st := s.known[string(s.key)]
	if st == nil {
		st = &stack{program: program, frames: frames}
		s.known[string(s.key)] = st
		s.list = append(s.list, st)
	}
	st.count++
}

// number is that of a text: equal ones have the same.
func (s *Stacks) number(text string) uint32 {
	n, ok := s.texts[text]
	if !ok {
		n = uint32(len(s.texts))
		s.texts[text] = n
	}
	return n
}

// frame is what stacks have of a frame.
func (s *Stacks) frame(f *report.Frame) *stackFrame {
	tag, _ := doubt(f)
	key, given := frameKey{f.Module, f.CallSite}, givenName{f.Function, strings.HasSuffix(tag, "?]")}
	if f.Module == nil && f.Function == "" { // all of these have one text
		key.addr = 0
	}
	first := s.frames[key]
	if first != nil && first.given == given {
		return first
	}
	if other := s.others[namedKey{key, given}]; other != nil {
		return other
	}
	out := newStackFrame(f, key.addr)
	if out.given, out.number = given, s.number(out.text); first == nil {
		s.frames[key] = out
	} else {
		s.others[namedKey{key, given}] = out
	}
	return out
}

// WriteFolded writes the stacks in the form that flamegraph.pl, speedscope and inferno read,
// one a line: program;outermost;…;innermost count.
func (s *Stacks) WriteFolded(w io.Writer) (err error) {
	var line []byte
	for _, st := range s.list {
		if line = line[:0]; st.program != "" {
			line = append(append(line, st.program...), ';')
		}
		for i, f := range st.frames {
			if i > 0 {
				line = append(line, ';')
			}
			line = append(line, f.text...)
		}
		line = append(strconv.AppendInt(append(line, ' '), int64(st.count), 10), '\n')
		if _, err = w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// newStackFrame makes what stacks have of a frame.
func newStackFrame(f *report.Frame, addr uint64) *stackFrame {
	module := moduleOf(f)
	out := &stackFrame{places: []stackPlace{{foldedName(functionName(f)), f.File, f.Line, addr, module}}}
	for k := len(f.Inlines) - 1; k >= 0; k-- {
		in := &f.Inlines[k]
		out.places = append(out.places, stackPlace{foldedName(orUnknown(in.Function)), in.File, in.Line, addr, module})
	}
	names := make([]string, len(out.places))
	for i := range out.places {
		names[i] = out.places[i].name
	}
	out.text = strings.Join(names, ";")
	return out
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
	return strings.ReplaceAll(strings.ReplaceAll(Text(name), ";", ":"), "\n", " ")
}
