package display

import (
	"iter"
	"sync"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Stacks counts equal stacks over many captures, for flame graphs and for pprof. The zero value is empty. Memory is taken for
// each different stack and each different frame only. Most frames are told by their places, of which a recording of a hundred
// thousand stacks has some ten thousand; Name names those that are new. It is safe for concurrent use.
//
//	frames ─► Find ─► numbers ─► Count ─► different stacks
//	            └► new places ─► Name ─► their names
type Stacks struct {
	naming  sync.Mutex // held while places are named
	mu      sync.RWMutex
	places  map[binaryKey]*binaryPlaces
	others  map[namedKey]uint32 // frames whose place does not tell their name
	frames  []stackFrame
	parts   []stackPlace // of all frames
	unnamed []unnamedFrame
	modules map[stackModule]*stackModule
	texts   texts
	origins numbered[origin]

	counting sync.Mutex // held while stacks are counted: those that find numbers do not wait
	tree     callTree   // by the origin, then the frames
}

// binaryKey is a binary, of which every process has a module: its image, or the module where no image is known.
type binaryKey struct {
	img    *image.Image
	module *target.Module
}

func keyOf(m *target.Module) binaryKey {
	if m != nil && m.Image != nil {
		return binaryKey{img: m.Image}
	}
	return binaryKey{module: m}
}

// binaryPlaces are the numbers of a binary's places by image address, for each kindOf. All are shown as those of the first process's
// module.
type binaryPlaces struct {
	first   *target.Module
	shown   *stackModule
	numbers [4]map[uint64]uint32
}

// kindOf is what, beside the address, tells the name of a frame in a module. A frame without a name that waits is named by its return
// address, a frame that was interrupted there by the address itself; a guess has a mark.
func kindOf(f *unwind.Frame) (kind int) {
	if guessed(f) {
		kind = kindGuess
	}
	if f.Exact {
		kind |= kindExact
	}
	return kind
}

const kindGuess, kindExact = 1, 2

// namedKey is a frame whose name its place does not tell.
type namedKey struct {
	module *target.Module
	addr   uint64
	kind   int
	name   string
}

// unnamedFrame is what the name of the first frame at a place is made of, and the place's number.
type unnamedFrame struct {
	pc, callSite uint64
	module       *target.Module
	number       uint32
	kind         uint8
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
	var unknown []newPlace
	s.mu.RLock()
	var last *target.Module // most frames call within their module
	var places *binaryPlaces
	named := false
	for f, listed := range frames {
		if f.Module != last {
			last, places, named = f.Module, s.places[keyOf(f.Module)], isFile(f.Module)
		}
		n := uint32(0)
		if named && !listed {
			if places != nil {
				n = places.numbers[kindOf(f)][imageAddr(f)]
			}
			if n == 0 && last.Image != nil {
				unknown = append(unknown, newPlace{f, len(dst)})
			}
		}
		dst = append(dst, n)
	}
	s.mu.RUnlock()
	if len(unknown) > 0 {
		s.enter(dst, unknown)
	}
	return dst
}

// newPlace is a frame at a place that has no number, and where the number goes.
type newPlace struct {
	frame *unwind.Frame
	at    int
}

// isFile tells whether a module's code is a file's, or an image's: a function that the program made.
func isFile(m *target.Module) bool { return m != nil && (m.Image != nil || !m.Anonymous()) }

// enter gives numbers to places that have none.
func (s *Stacks) enter(numbers []uint32, unknown []newPlace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range unknown {
		at, addr := s.placesOf(u.frame), imageAddr(u.frame)
		n := at[addr]
		if n == 0 {
			s.frames = append(s.frames, stackFrame{})
			n = uint32(len(s.frames))
			at[addr] = n
			s.unnamed = append(s.unnamed, unnamedFrame{u.frame.PC, u.frame.CallSite, u.frame.Module, n, uint8(kindOf(u.frame))})
		}
		numbers[u.at] = n
	}
}

// placesOf are the numbers of the places of a frame's binary and kind.
func (s *Stacks) placesOf(f *unwind.Frame) map[uint64]uint32 {
	at := &s.binary(f.Module).numbers[kindOf(f)]
	if *at == nil {
		*at = map[uint64]uint32{}
	}
	return *at
}

// binary are the places of a module's binary.
func (s *Stacks) binary(m *target.Module) *binaryPlaces {
	s.begin()
	p := s.places[keyOf(m)]
	if p == nil {
		p = &binaryPlaces{first: m, shown: s.module(m)}
		s.places[keyOf(m)] = p
	}
	return p
}

// Learn is the number of a frame whose place Find does not know; listed: the capture has its name. A guess is marked by a "?" behind
// the name.
func (s *Stacks) Learn(f *report.Frame, listed bool) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	if !listed && isFile(f.Module) {
		at, addr := s.placesOf(f.Frame), imageAddr(f.Frame)
		if at[addr] == 0 {
			at[addr] = s.add(f)
		}
		return at[addr]
	}
	key := namedKey{f.Module, f.CallSite, kindOf(f.Frame), f.Function}
	if f.Module == nil && f.Function == "" { // all of these have one text
		key.addr = 0
	}
	n := s.others[key]
	if n == 0 {
		n = s.add(f)
		s.others[key] = n
	}
	return n
}

// add adds a frame with its name, and returns its number.
func (s *Stacks) add(f *report.Frame) uint32 {
	s.frames = append(s.frames, stackFrame{})
	s.name(uint32(len(s.frames)), f)
	return uint32(len(s.frames))
}

// name gives a frame its names.
func (s *Stacks) name(number uint32, f *report.Frame) {
	addr, shown := f.CallSite, s.binary(f.Module)
	switch {
	case f.Module != nil:
		addr = shown.first.ToTarget(imageAddr(f.Frame))
	case f.Function == "": // all of these have one text
		addr = 0
	}
	first := len(s.parts)
	var text string
	s.parts, text = appendPlaces(s.parts, f, addr, shown.shown)
	s.frames[number-1] = stackFrame{uint32(first), uint32(len(s.parts)), s.texts.number(text)}
}

// begin makes the maps of a value that is empty.
func (s *Stacks) begin() {
	if s.places != nil {
		return
	}
	s.places, s.others = map[binaryKey]*binaryPlaces{}, map[namedKey]uint32{}
	s.modules = map[stackModule]*stackModule{}
}

// module is what stacks have of a module; nothing for nil. One stands for all that are alike.
func (s *Stacks) module(m *target.Module) *stackModule {
	made := moduleOf(m)
	out := s.modules[made]
	if out == nil {
		out = &made
		s.modules[made] = out
	}
	return out
}

// partsOf are a frame's function, and the inlined functions there, outermost first.
func (s *Stacks) partsOf(number uint32) []stackPlace {
	f := &s.frames[number-1]
	return s.parts[f.first:f.end]
}
