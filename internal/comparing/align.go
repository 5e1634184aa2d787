package comparing

import (
	"github.com/backsight/backsight/internal/jsonreport"
)

// aligner lays the frames of two threads side by side.
type aligner struct {
	a, b       *jsonreport.Thread
	same       map[string]bool            // binaries of the same build
	ofA, ofB   map[int]*jsonreport.Signed // functions by their frames' numbers
	lenA, lenB int
	bestAlike  []float32 // of a from i on, and of b from k on
}

// align finds the alignment with the most in common (S. Needleman, C. Wunsch, 1970).
func align(a, b *jsonreport.Thread, same map[string]bool) (rows []Row) {
	l := aligner{a: a, b: b, same: same, ofA: signed(a), ofB: signed(b), lenA: min(len(a.Frames), maxFrames), lenB: min(len(b.Frames), maxFrames)}
	l.fill()
	for i, k := 0, 0; i < l.lenA || k < l.lenB; {
		relation, gain := l.relation(i, k)
		switch {
		case gain > 0 && l.at(i, k) == l.at(i+1, k+1)+gain:
			rows = append(rows, Row{&a.Frames[i], &b.Frames[k], relation})
			i, k = i+1, k+1
		case k == l.lenB || i < l.lenA && l.at(i, k) == l.at(i+1, k):
			rows = append(rows, Row{A: &a.Frames[i], Relation: OnlyA})
			i++
		default:
			rows = append(rows, Row{B: &b.Frames[k], Relation: OnlyB})
			k++
		}
	}
	return rows
}

func signed(t *jsonreport.Thread) map[int]*jsonreport.Signed {
	out := map[int]*jsonreport.Signed{}
	if s := t.Own.Signature; s != nil {
		for i := range s.Frames {
			out[s.Frames[i].Frame] = &s.Frames[i]
		}
	}
	return out
}

// at is the most that the frames of a from i on and of b from k on have in common.
func (l *aligner) at(i, k int) float32 {
	if i >= l.lenA || k >= l.lenB {
		return 0
	}
	return l.bestAlike[i*l.lenB+k]
}

func (l *aligner) fill() {
	l.bestAlike = make([]float32, l.lenA*l.lenB) // maxFrames each
	for i := l.lenA - 1; i >= 0; i-- {
		for k := l.lenB - 1; k >= 0; k-- {
			_, gain := l.relation(i, k)
			best := max(l.at(i+1, k), l.at(i, k+1))
			if gain > 0 {
				best = max(best, l.at(i+1, k+1)+gain)
			}
			l.bestAlike[i*l.lenB+k] = best
		}
	}
}

// relation is what frame i of a is to frame k of b, and what having them side by side is worth; 0: nothing.
func (l *aligner) relation(i, k int) (Relation, float32) {
	if i >= l.lenA || k >= l.lenB {
		return "", 0
	}
	a, b := &l.a.Frames[i], &l.b.Frames[k]
	build := a.Module == b.Module && l.same[a.Module]
	switch {
	case build && a.ModuleOffset == b.ModuleOffset && a.ModuleOffset != "":
		return SamePlace, 1
	case a.Function != "" && a.Function == b.Function && a.FunctionOffset == b.FunctionOffset && a.Module == b.Module:
		return SamePlace, 1
	case a.Function != "" && a.Function == b.Function:
		return SameFunction, 0.9
	case inlines(a, b.Function) || inlines(b, a.Function):
		return Inlined, 0.5
	}
	const least = 0.6
	if x, y := l.ofA[a.Number], l.ofB[b.Number]; x != nil && y != nil {
		if like := x.Like(y); like == 1 {
			return SameFunction, 0.9
		} else if like >= least {
			return Alike, float32(like) * 0.8
		}
	}
	return "", 0
}

// inlines tells whether a function was inlined in a frame.
func inlines(f *jsonreport.Frame, name string) bool {
	for i := range f.Inlines {
		if name != "" && f.Inlines[i].Function == name {
			return true
		}
	}
	return false
}
