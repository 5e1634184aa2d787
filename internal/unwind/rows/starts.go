package rows

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/internal/unwind/table"
)

// Starts calls yield for where functions of an image begin, until it returns false.
type Starts func(img *image.Image, yield func(addr uint64, mode cpu.Mode) bool)

// Code tells of an image's code what rules do not. Entries are the certain beginnings of
// functions, Modes those and the possible ones, in order of address, on processors whose code
// may be of two modes; Signals are trampolines.
type Code struct {
	Entries, Modes Starts
	Signals        Signals
}

// start is where a function begins.
type start struct{ pc uint64 }

// starts gathers them, in any order and more than once.
type starts struct {
	img  *image.Image
	list []start
}

func newStarts(img *image.Image) *starts { return &starts{img: img} }

func (s *starts) add(pc uint64) {
	if n := len(s.list); n == 0 || s.list[n-1].pc != pc {
		s.list = append(s.list, start{pc})
	}
}

// noting is a part that notes where the functions of its rows begin.
func (s *starts) noting(p table.Part) table.Part {
	list := p.List
	p.List = func(img *image.Image, wanted func(lo, hi uint64) bool, yield table.Yield) {
		list(img, wanted, func(lo, hi uint64, mode cpu.Mode, rule packed.Row) bool {
			if rule.Start == lo {
				s.add(lo)
			}
			return yield(lo, hi, mode, rule)
		})
	}
	return p
}

// known adds what the image and the caller know.
func (s *starts) known(functions Starts) {
	yield := func(addr uint64, _ cpu.Mode) bool {
		if s.img.Segments.Executable(addr) {
			s.add(addr)
		}
		return true
	}
	s.img.Symbols.Functions(func(addr uint64, mode cpu.Mode, _ uint64) bool { return yield(addr, mode) })
	s.img.Symbols.FunctionStarts(yield)
	if functions != nil {
		functions(s.img, yield)
	}
}

// sorted are all starts, each once, in order.
func (s *starts) sorted() []start {
	slices.SortFunc(s.list, func(a, b start) int { return cmp.Compare(a.pc, b.pc) })
	return slices.Compact(s.list)
}

// next is where the next function of a list behind pc begins, the highest address where none does.
func next(list []start, pc uint64) uint64 {
	i, exact := slices.BinarySearchFunc(list, pc, func(s start, pc uint64) int { return cmp.Compare(s.pc, pc) })
	if exact {
		i++
	}
	if i < len(list) {
		return list[i].pc
	}
	return ^uint64(0)
}
