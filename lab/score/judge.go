// Package score says how right backtraces are: it unwinds recorded captures and
// compares with the true call chains.
//
// A snapshot is whole when every address from the innermost frame up to main's
// caller is right. It is wrong when a frame within that span has another address
// than the truth, short when the backtrace ends early. It is a lie when the first
// wrong frame is certain. cfa counts the frames that are right in address whose
// CFA is known and right.
package score

import (
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/unwind"
)

// Got is one frame of a backtrace under judgement.
type Got struct {
	PC, CFA uint64
	Trust   unwind.Trust
	Method  unwind.Method
}

// Verdict is what became of one snapshot.
type Verdict struct {
	Frames, OK  int
	Whole       bool
	Wrong       bool
	Short       bool
	Lie         bool
	CFAs, CFAOK int
	// Methods counts right and wrong frames by how they were found, frame 0 left
	// out.
	Methods [16]MethodTally
	// Trusts counts the same frames by their trust.
	Trusts Trusts
}

// MethodTally counts the frames of one method. Only the first wrong frame of a
// backtrace counts: those behind it follow from it.
type MethodTally struct{ Right, Certain, Wrong, Lies int }

// Judge compares a backtrace with the truth.
func Judge(a *truth.Answer, got []Got) (v Verdict) {
	mask := ^uint64(0)
	if a.ModeBit {
		mask = ^uint64(1)
	}
	v.Frames = len(a.Frames)
	for v.OK < len(a.Frames) && v.OK < len(got) {
		t, g := &a.Frames[v.OK], &got[v.OK]
		if g.PC&mask != uint64(t.PC)&mask {
			break
		}
		if t.CFA != nil {
			v.CFAs++
			if g.CFA == uint64(*t.CFA) {
				v.CFAOK++
			}
		}
		v.count(g, true)
		v.OK++
	}
	v.Whole = v.OK == len(a.Frames)
	v.Wrong = !v.Whole && v.OK < len(got)
	v.Short = !v.Whole && !v.Wrong
	if v.Wrong {
		g := &got[v.OK]
		v.Lie = g.Trust == unwind.Certain
		v.count(g, false)
	}
	return v
}

// count tallies the frame at index OK. Frame 0 is what the capture says.
func (v *Verdict) count(g *Got, right bool) {
	if v.OK > 0 {
		v.Methods[g.Method].add(g.Trust == unwind.Certain, right)
		v.Trusts[g.Trust].add(right)
	}
}

func (m *MethodTally) add(certain, right bool) {
	switch {
	case right && certain:
		m.Right++
		m.Certain++
	case right:
		m.Right++
	case certain:
		m.Wrong++
		m.Lies++
	default:
		m.Wrong++
	}
}
