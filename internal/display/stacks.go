package display

import (
	"encoding/binary"
	"hash/maphash"
	"iter"
	"slices"
	"sync"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Stacks counts equal stacks over many captures, for flame graphs and for pprof. The zero value is empty. Memory is taken for
// each different stack and each different frame only. Find, Learn and Count are safe for concurrent use.
//
//	frames ─► Find ─► numbers ─────────────────────► Count
//	            └► new places ─► named ─► Learn ─► numbers ┘
type Stacks struct {
	mu      sync.RWMutex
	known   map[uint64]uint32 // the last of list that has a hash, counted from 1
	list    []stack
	called  []uint32 // the frames of all stacks, by their numbers
	frames  []stackFrame
	places  map[frameKey]uint32
	others  map[namedKey]uint32 // frames whose place does not tell their name
	modules map[*target.Module]*stackModule
	equal   map[stackModule]*stackModule // one for all that are alike
	texts   map[string]uint32
	seed    maphash.Seed
	key     []byte // the numbers of the program's and the frames' texts
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

// frameKey is where a frame calls, which tells what is inlined there. A frame without a name that waits is named by its return
// address, a frame that was interrupted there by the address itself.
type frameKey struct {
	module       *target.Module
	addr         uint64
	guess, exact bool
}

func keyOf(f *unwind.Frame) frameKey { return frameKey{f.Module, f.CallSite, guessed(f), f.Exact} }

type namedKey struct {
	frameKey
	name string
}

// stackFrame is a frame with what was inlined there, outermost first.
type stackFrame struct {
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
	module     *stackModule
}

type stackModule struct {
	name, buildID string
	lo, hi        uint64
}

// Find appends the numbers that Learn gave to the places of frames; 0 where Learn was not told of the place.
func (s *Stacks) Find(dst []uint32, frames iter.Seq[*unwind.Frame]) []uint32 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for f := range frames {
		dst = append(dst, s.places[keyOf(f)])
	}
	return dst
}

// Learn is the number of a frame; numbers begin at 1. A guess is marked by a "?" behind its name. byPlace: Find gives this number
// for all frames at the same place, because a binary's names are the same at all times. What a capture lists, and what a program
// makes while it runs, may have other names later.
func (s *Stacks) Learn(f *report.Frame, byPlace bool) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	key := namedKey{keyOf(f.Frame), f.Function}
	if f.Module == nil && f.Function == "" { // all of these have one text
		key.addr = 0
	}
	n := s.others[key]
	if byPlace {
		n = s.places[key.frameKey]
	}
	if n != 0 {
		return n
	}
	n = s.add(f, key.addr)
	if byPlace {
		s.places[key.frameKey] = n
	} else {
		s.others[key] = n
	}
	return n
}

// add adds a frame, whose number is its place in the list, counted from 1.
func (s *Stacks) add(f *report.Frame, addr uint64) uint32 {
	made := newStackFrame(f, addr, s.module(f.Module))
	made.number = s.number(made.text)
	s.frames = append(s.frames, made)
	return uint32(len(s.frames))
}

// begin makes the maps of a value that is empty.
func (s *Stacks) begin() {
	if s.known != nil {
		return
	}
	s.known, s.texts, s.seed = map[uint64]uint32{}, map[string]uint32{}, maphash.MakeSeed()
	s.places, s.others = map[frameKey]uint32{}, map[namedKey]uint32{}
	s.modules, s.equal = map[*target.Module]*stackModule{}, map[stackModule]*stackModule{}
}

// Count counts stacks of a snapshot: the numbers of their frames, innermost first. A stack without frames is not counted.
func (s *Stacks) Count(snap *target.Snapshot, stacks ...[]uint32) {
	program := foldedName(typeset.ProgramName(snap))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stack := range stacks {
		if len(stack) > 0 {
			s.count(program, stack)
		}
	}
}

func (s *Stacks) count(program string, numbers []uint32) {
	s.key = binary.LittleEndian.AppendUint32(s.key[:0], s.number(program))
	for _, n := range slices.Backward(numbers) {
		s.key = binary.LittleEndian.AppendUint32(s.key, s.frames[n-1].number)
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
	s.list = append(s.list, stack{program, first, len(s.called), 1, s.known[hash]})
	s.known[hash] = uint32(len(s.list))
}

// reads tells whether a stack's frames have the texts of those with these numbers, innermost first.
func (s *Stacks) reads(st *stack, numbers []uint32) bool {
	if st.end-st.first != len(numbers) {
		return false
	}
	for i, n := range s.called[st.first:st.end] {
		if s.frames[n-1].number != s.frames[numbers[len(numbers)-1-i]-1].number {
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

// number is that of a text: equal ones have the same.
func (s *Stacks) number(text string) uint32 {
	n, ok := s.texts[text]
	if !ok {
		n = uint32(len(s.texts))
		s.texts[text] = n
	}
	return n
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
