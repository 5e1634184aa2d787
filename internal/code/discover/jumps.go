package discover

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// jump goes from one place to the place with a key.
type jump struct{ from, to uint64 }

// jumps keeps jumps in eight bytes each: a program of 100 MB has two million unconditional
// ones.
type jumps struct {
	base   uint64 // what from and to are relative to
	chunks [][]shortJump
	left   int // how many more are kept
}

type shortJump struct{ from, to uint32 }

// jumpChunk is how many jumps lie together: a list that grows by copies of itself would
// take three times the memory while it does.
const jumpChunk = 1 << 12

// newJumps returns no jumps of an image's code. What is kept is bounded: one for each 16
// bytes of code. Compilers make one unconditional jump in 25 bytes on x86.
func newJumps(code disasm.Code) jumps {
	lo, _ := code.Bounds()
	return jumps{base: lo, left: mostJumps(code)}
}

func mostJumps(code disasm.Code) int { return someJumps + textSize(code)/16 }

// someJumps is what is kept of any image.
const someJumps = 1 << 16

// textSize is how many bytes of code an image has.
func textSize(code disasm.Code) (n int) {
	code.Text(func(_ uint64, text []byte) { n += len(text) })
	return n
}

// short is a jump relative to an address; false where it goes 4 GB far.
func (j jump) short(base uint64) (s shortJump, ok bool) {
	s = shortJump{uint32(j.from - base), uint32(j.to - base)}
	return s, s.long(base) == j
}

func (s shortJump) long(base uint64) jump { return jump{base + uint64(s.from), base + uint64(s.to)} }

// add keeps a jump, unless there are too many, or it goes 4 GB far.
func (l *jumps) add(j jump) bool {
	s, ok := j.short(l.base)
	if !ok || l.left == 0 {
		return false
	}
	l.left--
	if n := len(l.chunks); n == 0 || len(l.chunks[n-1]) == jumpChunk {
		l.chunks = append(l.chunks, make([]shortJump, 0, jumpChunk))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, s)
	return true
}

// all yields the jumps in the order in which they were added.
func (l *jumps) all(yield func(jump) bool) {
	for _, c := range l.chunks {
		for _, s := range c {
			if !yield(s.long(l.base)) {
				return
			}
		}
	}
}

// addTails adds to the places where functions may begin the targets of jumps that leave the
// function they stand in, as far as those places bound the function: functions that are only
// ever tail-called, and parts of functions moved elsewhere (.text.unlikely). An analysis
// that starts in such a part finds its stack unbalanced.
func addTails(entries *disasm.Set, list *jumps, code disasm.Code, certain keys) {
	named := entries.Counted()
	for j := range list.all {
		to := code.Addr(j.to)
		lo, hi := min(j.from, to.PC), max(j.from, to.PC)
		if named.Between(disasm.Addr{PC: lo + 1, Mode: 1}.Key(), hi) || certain.next(code, lo, to.PC) <= hi {
			entries.Add(to)
		}
	}
}

// maxPad bounds the instructions of a landing pad up to its jump.
const maxPad = 32

// landingPads adds the jumps of code that stands where other code ends and that no flow leads
// to: the runtime alone enters landing pads. GCC leaves those of two instructions in a function
// whose pads lie elsewhere (.text.unlikely), as the last of glibc's fclose:
//
//	e9 a6 fe ff ff  jmp  75a30
//	48 89 c5        mov  %rax,%rbp
//	e9 fc 09 fb ff  jmp  2658e       within abort, by the symbols
func (s *sweep) landingPads() {
	left := maxVisited
	for key := range s.ends.Outside(s.seen) {
		if left -= s.landingPad(s.Addr(key)); left < 0 {
			return
		}
	}
}

// landingPad adds the jumps of the code at a place up to where that ends or was seen, and tells
// how many instructions that are.
func (s *sweep) landingPad(at disasm.Addr) (n int) {
	s.cursor.Seek(at)
	for ; n < maxPad; n++ {
		in := s.cursor.Next(at.PC)
		if in == nil {
			return n
		}
		if in.Op == cpu.OpJump && in.Target != 0 && in.Flags&(cpu.FlagTable|cpu.FlagMemory) == 0 && s.far(at.PC, in.Target) {
			s.jumps.add(jump{at.PC, disasm.Target(in).Key()})
		}
		if at.PC += uint64(in.Len); in.Ends(s.Arch.PC) || s.seen.Has(at) {
			return n + 1
		}
	}
	return n
}

// farJumps are the jumps over a certain entry, sorted by target. Compilers move code away
// from a function in few places: for each 128 bytes of code one is kept.
func (s *sweep) farJumps() []jump {
	most := someJumps/8 + textSize(s.Code)/128
	var far []jump
	for j := range s.jumps.all {
		if len(far) < most && s.far(j.from, s.Addr(j.to).PC) {
			far = append(far, j)
		}
	}
	slices.SortFunc(far, func(a, b jump) int { return cmp.Compare(s.Addr(a.to).PC, s.Addr(b.to).PC) })
	return slices.Clip(far)
}

// targetsBelow are the last n of jumps, which are sorted by target, that go to pc or below.
func targetsBelow(code disasm.Code, jumps []jump, pc uint64, n int) []jump {
	i, _ := slices.BinarySearchFunc(jumps, pc+1, func(j jump, pc uint64) int { return cmp.Compare(code.Addr(j.to).PC, pc) })
	return jumps[max(0, i-n):i]
}
