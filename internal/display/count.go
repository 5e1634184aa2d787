package display

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"slices"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/target"
)

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
	st := s.keep(numbers)
	st.program, st.before = program, s.known[hash]
	s.list = append(s.list, st)
	s.known[hash] = uint32(len(s.list))
}

// keep is a stack that was met once, of frames with these numbers, innermost first.
func (s *Stacks) keep(numbers []uint32) stack {
	last := len(s.called) - 1
	if last < 0 || cap(s.called[last])-len(s.called[last]) < len(numbers) {
		s.called = append(s.called, make([]uint32, 0, max(sizeOfPiece, len(numbers))))
		last++
	}
	piece := append(s.called[last], numbers...)
	first := len(s.called[last])
	slices.Reverse(piece[first:])
	s.called[last] = piece
	return stack{piece: uint32(last), first: uint32(first), end: uint32(len(piece)), count: 1}
}

// sizeOfPiece is how many frames a piece has: as much memory as some hundred stacks take.
const sizeOfPiece = 1 << 14

// framesOf are the numbers of a stack's frames, outermost first.
func (s *Stacks) framesOf(st *stack) []uint32 { return s.called[st.piece][st.first:st.end] }

// reads tells whether a stack's frames have the texts of those with these numbers, innermost first.
func (s *Stacks) reads(st *stack, numbers []uint32) bool {
	frames := s.framesOf(st)
	if len(frames) != len(numbers) {
		return false
	}
	for i, n := range frames {
		if s.frames[n-1].text != s.frames[numbers[len(numbers)-1-i]-1].text {
			return false
		}
	}
	return true
}

// of are a stack's frames, outermost first.
func (s *Stacks) of(st *stack) iter.Seq2[int, *stackFrame] {
	return func(yield func(int, *stackFrame) bool) {
		for i, n := range s.framesOf(st) {
			if !yield(i, &s.frames[n-1]) {
				return
			}
		}
	}
}
