package render

import (
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Stacks counts equal stacks over many reports, for flame graphs and for pprof. The zero
// value is empty. Memory is taken for each different stack and each different frame only.
type Stacks struct {
	known   map[uint64]uint32 // the last of list that has a hash, counted from 1
	list    []stack
	called  []uint32 // the frames of all stacks, as indexes of frames
	frames  []*stackFrame
	places  map[frameKey]*stackFrame // the first of each place
	others  map[namedKey]*stackFrame
	modules map[*target.Module]*stackModule
	equal   map[stackModule]*stackModule // one for all that are alike
	texts   map[string]uint32
	seed    maphash.Seed
	key     []byte // the numbers of the program's and the frames' texts
	found   []uint32
}

// stack is the stack that several threads have in common: the program's name, and the frames,
// outermost first, those in Stacks.called from first to before end. A profile has some ten thousand, so that
// there is no pointer in it but the name's.
type stack struct {
	program    string
	first, end int
	count      int
	before     uint32 // one of the same hash, counted from 1; 0: none
}

// of are a stack's frames.
func (s *Stacks) of(st *stack) iter.Seq2[int, *stackFrame] {
	return func(yield func(int, *stackFrame) bool) {
		for i, n := range s.called[st.first:st.end] {
			if !yield(i, s.frames[n]) {
				return
			}
		}
	}
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
	index  uint32
}

// stackPlace is a function, or an inlined function; a module and an offset where the function has
// no name.
type stackPlace struct {
	name, file string
	line       int
	address    uint64
	module     *stackModule
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
		*s = Stacks{known: map[uint64]uint32{}, places: map[frameKey]*stackFrame{}, others: map[namedKey]*stackFrame{},
			modules: map[*target.Module]*stackModule{}, equal: map[stackModule]*stackModule{}, texts: map[string]uint32{}, seed: maphash.MakeSeed()}
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
	s.key, s.found = binary.LittleEndian.AppendUint32(s.key[:0], s.number(program)), s.found[:0]
	for i := th.Count() - 1; i >= 0; i-- {
		f := s.frame(numbered(th, i))
		s.found = append(s.found, f.index)
		s.key = binary.LittleEndian.AppendUint32(s.key, f.number)
	}
	hash := maphash.Bytes(s.seed, s.key)
	for n := s.known[hash]; n > 0; n = s.list[n-1].before {
		if st := &s.list[n-1]; st.program == program && s.reads(st) {
			st.count++
			return
		}
	}
	first := len(s.called)
	s.called = append(s.called, s.found...)
	s.list = append(s.list, stack{program, first, len(s.called), 1, s.known[hash]})
	s.known[hash] = uint32(len(s.list))
}

// reads tells whether a stack's frames have the texts of those that were found.
func (s *Stacks) reads(st *stack) bool {
	return slices.EqualFunc(s.called[st.first:st.end], s.found, func(a, b uint32) bool { return s.frames[a].number == s.frames[b].number })
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
	key, given := frameKey{f.Module, f.CallSite}, givenName{f.Function, guessed(f)}
	if f.Module == nil && f.Function == "" { // all of these have one text
		key.addr = 0
	}
	first := s.places[key]
	if first != nil && first.given == given {
		return first
	}
	if other := s.others[namedKey{key, given}]; other != nil {
		return other
	}
	out := newStackFrame(f, key.addr, s.module(f.Module))
	out.given, out.number, out.index = given, s.number(out.text), uint32(len(s.frames))
	if s.frames = append(s.frames, out); first == nil {
		s.places[key] = out
	} else {
		s.others[namedKey{key, given}] = out
	}
	return out
}

// module is what stacks have of a module; nothing for nil.
func (s *Stacks) module(m *target.Module) *stackModule {
	out := s.modules[m]
	if out == nil {
		made := moduleOf(m)
		if out = s.equal[made]; out == nil {
			out = &made
			s.equal[made] = out
		}
		s.modules[m] = out
	}
	return out
}

// WriteFolded writes the stacks in the form that flamegraph.pl, speedscope and inferno read,
// one a line: program;outermost;…;innermost count.
func (s *Stacks) WriteFolded(w io.Writer) (err error) {
	var line []byte
	for k := range s.list {
		st := &s.list[k]
		if line = line[:0]; st.program != "" {
			line = append(append(line, st.program...), ';')
		}
		for i, f := range s.of(st) {
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
func newStackFrame(f *report.Frame, addr uint64, module *stackModule) *stackFrame {
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
	if guessed(f) {
		name += "?"
	}
	return name
}

// guessed tells whether a frame is a guess, and the only one.
func guessed(f *report.Frame) bool { return f.Trust == unwind.Guess && f.Checks&unwind.SeveralFit == 0 }

// foldedName is a name without the characters that separate names in folded stacks.
func foldedName(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(Text(name), ";", ":"), "\n", " ")
}

func moduleOf(m *target.Module) stackModule {
	if m == nil {
		return stackModule{}
	}
	id := m.BuildID
	if m.Image != nil {
		id = m.Image.BuildID
	}
	return stackModule{m.Name, hex.EncodeToString(id), m.Lo, m.Hi}
}
