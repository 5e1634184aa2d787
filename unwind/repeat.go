package unwind

import (
	"sort"
)

// Repeat is recursion that a walk folded: between the frames At-1 and At of the walk's list, Turns more turns of the Period
// frames before At lie on the stack. The frames of a turn are those of the turn before, but for their CFAs, which are
// Stride bytes further out.
//
//	#0  leaf
//	#1  odd      ◄─ one turn stays in the list
//	#2  even
//	              ◄─ 500,000 turns more: frames 3 to 1,000,002
//	#1,000,003  main
type Repeat struct {
	At, Period, Turns int
	Stride            uint64
	First             int // the number of the first frame that is left out
}

// Repeats are the repeats of a list of frames, innermost first. A frame's number counts the frames that were left out, the
// frame's index in the list does not.
type Repeats []Repeat

// Count is how many frames there are, of which so many are in the list.
func (r Repeats) Count(listed int) int {
	if len(r) == 0 {
		return listed
	}
	last := &r[len(r)-1]
	return listed - last.At + last.First + last.Period*last.Turns
}

// Number is the number of the frame with an index in the list.
func (r Repeats) Number(index int) int {
	k := sort.Search(len(r), func(k int) bool { return r[k].At > index })
	return r[:k].Count(index)
}

// Index is the index in the list of the frame with a number. A frame that was left out is the frame with that index, but
// lies so many bytes further out.
func (r Repeats) Index(number int) (index int, further uint64) {
	k := sort.Search(len(r), func(k int) bool { return r[k].First > number })
	if k == 0 {
		return number, 0
	}
	last := &r[k-1]
	out, n := last.Period*last.Turns, number-last.First
	if n < out {
		return last.At - last.Period + n%last.Period, last.Stride * uint64(n/last.Period+1)
	}
	return last.At + n - out, 0
}

// LeftOut is how many bytes of the stack the frames have that the list leaves out in front of the frame with an index.
func (r Repeats) LeftOut(index int) uint64 {
	_, further := r.Index(r.Number(index) - 1)
	return further
}
