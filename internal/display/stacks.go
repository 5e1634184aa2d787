package display

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"slices"
	"sync"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Stacks counts equal stacks over many captures, for flame graphs and for pprof. The zero value is empty. Memory is taken for
// each different stack and each different frame only. Most frames are told by their places, of which a recording of a hundred
// thousand stacks has some ten thousand; Name names those that are new. It is safe for concurrent use.
//
//	frames ─► Find ─► numbers ─► Count ──────► Settle ─► different stacks
//	            └► new places ─► Name ─► named ──┘
type Stacks struct {
	naming  sync.Mutex // held while places are named
	mu      sync.RWMutex
	places  map[*target.Module]*modulePlaces
	others  map[namedKey]uint32 // frames whose place does not tell their name
	frames  []stackFrame
	parts   []stackPlace // of all frames
	unnamed unnamedFrames
	waiting waiting

	known   map[uint64]uint32 // the last of list that has a hash, counted from 1
	list    []stack
	called  []uint32 // the frames of all stacks, by their numbers
	modules map[stackModule]*stackModule
	texts   texts
	seed    maphash.Seed
	key     []byte // the numbers of the program's and the frames' texts
}

// waiting are stacks that Settle is to count, by snapshots.
type waiting struct {
	list   []programStacks
	frames int // in all of them
}

// programStacks are stacks of one program: the number of its name, and those of the frames, innermost first.
type programStacks struct {
	program uint32
	stacks  [][]uint32
}

// texts are different texts, and their numbers.
type texts struct {
	list    []string
	numbers map[string]uint32
}

// number is that of a text: equal ones have the same.
func (t *texts) number(text string) uint32 {
	n, ok := t.numbers[text]
	if !ok {
		n = uint32(len(t.list))
		t.numbers[text], t.list = n, append(t.list, text)
	}
	return n
}

// stack is the stack that several threads have in common: the program's name, and the frames,
// outermost first, those in Stacks.called from first to before end.
type stack struct {
	program    uint32 // number of the text
	before     uint32 // one of the same hash, counted from 1; 0: none
	first, end int
	count      int
}

// modulePlaces are the numbers of a module's places, by kindOf.
type modulePlaces struct {
	module  *stackModule
	numbers [4]map[uint64]uint32
}

// kindOf is what, beside the address, tells the name of a frame in a module. A frame without a name that waits is named by its return
// address, a frame that was interrupted there by the address itself; a guess has a mark.
func kindOf(f *unwind.Frame) (kind int) {
	if guessed(f) {
		kind = 1
	}
	if f.Exact {
		kind |= 2
	}
	return kind
}

// namedKey is a frame whose name its place does not tell.
type namedKey struct {
	module *target.Module
	addr   uint64
	kind   int
	name   string
}

// unnamedFrames are the first frames at places, and the places' numbers.
type unnamedFrames struct {
	numbers []uint32
	frames  []unwind.Frame
}

// stackFrame is a frame: its number is its place in the list, counted from 1.
type stackFrame struct {
	first, end uint32 // of Stacks.parts: what was inlined there, outermost first
	text       uint32 // the number of the names, as folded stacks have them
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

// Find appends the numbers of frames by their places; numbers begin at 1. A binary's names are the same at all times. What a capture
// lists, which frames has beside them, and what a program makes while it runs, may have other names later: the number of such a frame
// is 0, and so is that of a place without a binary of which Learn was not told.
func (s *Stacks) Find(dst []uint32, frames iter.Seq2[*unwind.Frame, bool]) []uint32 {
	first, unknown := len(dst), false
	s.mu.RLock()
	var last *target.Module // most frames call within their module
	var places *modulePlaces
	named := false
	for f, listed := range frames {
		if f.Module != last {
			last, places, named = f.Module, s.places[f.Module], isFile(f.Module)
		}
		n := uint32(0)
		if named && !listed {
			if places != nil {
				n = places.numbers[kindOf(f)][f.CallSite]
			}
			unknown = unknown || n == 0 && last.Image != nil
		}
		dst = append(dst, n)
	}
	s.mu.RUnlock()
	if unknown {
		s.enter(dst[first:], frames)
	}
	return dst
}

// isFile tells whether a module's code is a file's.
func isFile(m *target.Module) bool { return m != nil && !m.Anonymous() }

// enter gives numbers to places in binaries that have none.
func (s *Stacks) enter(numbers []uint32, frames iter.Seq2[*unwind.Frame, bool]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := 0
	for f, listed := range frames {
		if numbers[i] == 0 && !listed && isFile(f.Module) && f.Module.Image != nil {
			at := s.placesOf(f)
			n := at[f.CallSite]
			if n == 0 {
				s.frames = append(s.frames, stackFrame{})
				n = uint32(len(s.frames))
				at[f.CallSite] = n
				s.unnamed.numbers, s.unnamed.frames = append(s.unnamed.numbers, n), append(s.unnamed.frames, *f)
			}
			numbers[i] = n
		}
		i++
	}
}

// placesOf are the numbers of the places of a frame's module and kind, by address.
func (s *Stacks) placesOf(f *unwind.Frame) map[uint64]uint32 {
	s.begin()
	p := s.places[f.Module]
	if p == nil {
		p = &modulePlaces{module: s.module(f.Module)}
		s.places[f.Module] = p
	}
	at := &p.numbers[kindOf(f)]
	if *at == nil {
		*at = map[uint64]uint32{}
	}
	return *at
}

// Learn is the number of a frame whose place Find does not know; listed: the capture has its name. A guess is marked by a "?" behind
// the name.
func (s *Stacks) Learn(f *report.Frame, listed bool) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	if !listed && isFile(f.Module) {
		at := s.placesOf(f.Frame)
		if at[f.CallSite] == 0 {
			at[f.CallSite] = s.add(f, f.CallSite)
		}
		return at[f.CallSite]
	}
	key := namedKey{f.Module, f.CallSite, kindOf(f.Frame), f.Function}
	if f.Module == nil && f.Function == "" { // all of these have one text
		key.addr = 0
	}
	n := s.others[key]
	if n == 0 {
		n = s.add(f, key.addr)
		s.others[key] = n
	}
	return n
}

// add adds a frame with its name, and returns its number.
func (s *Stacks) add(f *report.Frame, addr uint64) uint32 {
	s.frames = append(s.frames, stackFrame{})
	s.name(uint32(len(s.frames)), f, addr)
	return uint32(len(s.frames))
}

// name gives a frame its names.
func (s *Stacks) name(number uint32, f *report.Frame, addr uint64) {
	first := len(s.parts)
	var text string
	s.parts, text = appendPlaces(s.parts, f, addr, s.module(f.Module))
	s.frames[number-1] = stackFrame{uint32(first), uint32(len(s.parts)), s.texts.number(text)}
}

// begin makes the maps of a value that is empty.
func (s *Stacks) begin() {
	if s.known != nil {
		return
	}
	s.known, s.texts.numbers, s.seed = map[uint64]uint32{}, map[string]uint32{}, maphash.MakeSeed()
	s.places, s.others = map[*target.Module]*modulePlaces{}, map[namedKey]uint32{}
	s.modules = map[stackModule]*stackModule{}
}

// Count takes stacks of a snapshot, for Settle to count: the numbers of their frames, innermost first. A stack without frames is not
// counted. Count tells whether enough of them wait.
func (s *Stacks) Count(snap *target.Snapshot, stacks ...[]uint32) (enough bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	w := &s.waiting
	w.list = append(w.list, programStacks{s.texts.number(foldedName(typeset.ProgramName(snap))), stacks})
	for _, stack := range stacks {
		w.frames += len(stack)
	}
	return w.frames >= maxWaiting
}

// maxWaiting is how many frames wait for their names: 4 MB of numbers. A recording of 300 MB has fewer.
const maxWaiting = 1 << 20

// Names says what is at image addresses of modules: the part of backsight.Symbolizer that names places.
type Names interface {
	Prepare(ctx context.Context, places iter.Seq2[*target.Module, uint64]) error
	Lookup(m *target.Module, addr uint64) symbol.Location
}

// Name looks up the places that have no names; names may be nil. The error is Prepare's. Once ctx has ended, places stay without names.
func (s *Stacks) Name(ctx context.Context, names Names) (err error) {
	s.naming.Lock()
	defer s.naming.Unlock()
	s.mu.Lock()
	all := s.unnamed
	s.unnamed = unnamedFrames{}
	s.mu.Unlock()
	if names != nil && len(all.frames) > 0 {
		err = names.Prepare(ctx, all.places())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = slices.Grow(s.parts, len(all.frames))
	for i := range all.frames {
		f, l := report.Frame{Frame: &all.frames[i]}, symbol.Location{}
		if names != nil && ctx.Err() == nil {
			l = names.Lookup(f.Module, imageAddr(f.Frame))
		}
		f.Location = &l
		s.name(all.numbers[i], &f, f.CallSite)
	}
	return err
}

// places are what the names of frames are looked up by.
func (u *unnamedFrames) places() iter.Seq2[*target.Module, uint64] {
	return func(yield func(*target.Module, uint64) bool) {
		for i := range u.frames {
			if !yield(u.frames[i].Module, imageAddr(&u.frames[i])) {
				return
			}
		}
	}
}

// imageAddr is where a frame is in its module's image.
func imageAddr(f *unwind.Frame) uint64 {
	return f.Module.ToImage(f.CallSite) & f.Module.Image.Arch.AddrMask()
}

// Settle counts the stacks that wait, with Name before.
func (s *Stacks) Settle(ctx context.Context, names Names) error {
	err := s.Name(ctx, names)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.waiting.list {
		for _, stack := range w.stacks {
			if len(stack) > 0 {
				s.count(w.program, stack)
			}
		}
	}
	s.waiting = waiting{}
	return err
}

func (s *Stacks) count(program uint32, numbers []uint32) {
	s.key = binary.LittleEndian.AppendUint32(s.key[:0], program)
	for _, n := range slices.Backward(numbers) {
		s.key = binary.LittleEndian.AppendUint32(s.key, s.frames[n-1].text)
	}
	hash := maphash.Bytes(s.seed, s.key)
	for n := s.known[hash]; n > 0; n = s.list[n-1].before {
		if st := &s.list[n-1]; st.program == program && s.reads(st, numbers) {
			st.count++
			return
		}
	}
	first := len(s.called)
	s.called = append(s.called, numbers...)
	slices.Reverse(s.called[first:])
	s.list = append(s.list, stack{program, s.known[hash], first, len(s.called), 1})
	s.known[hash] = uint32(len(s.list))
}

// reads tells whether a stack's frames have the texts of those with these numbers, innermost first.
func (s *Stacks) reads(st *stack, numbers []uint32) bool {
	if st.end-st.first != len(numbers) {
		return false
	}
	for i, n := range s.called[st.first:st.end] {
		if s.frames[n-1].text != s.frames[numbers[len(numbers)-1-i]-1].text {
			return false
		}
	}
	return true
}

// of are a stack's frames, outermost first.
func (s *Stacks) of(st *stack) iter.Seq2[int, *stackFrame] {
	return func(yield func(int, *stackFrame) bool) {
		for i, n := range s.called[st.first:st.end] {
			if !yield(i, &s.frames[n-1]) {
				return
			}
		}
	}
}

// module is what stacks have of a module; nothing for nil. One stands for all that are alike.
func (s *Stacks) module(m *target.Module) *stackModule {
	if p := s.places[m]; p != nil {
		return p.module
	}
	made := moduleOf(m)
	out := s.modules[made]
	if out == nil {
		out = &made
		s.modules[made] = out
	}
	return out
}
