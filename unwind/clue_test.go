package unwind_test

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// TestClues: main calls f twice, with return addresses one bit apart. What f keeps of its
// arguments in s0, and what main keeps in s1, tell which call it was.
func TestClues(t *testing.T) {
	arch := o32()
	const pointer, other = 0x10203040, 0x10204050
	s0, _ := arch.RegByName("s0")
	s1, _ := arch.RegByName("s1")
	number := func(n int64) unwind.Operand { return unwind.Operand{Kind: unwind.Number, Off: n} }
	passed := unwind.Operand{Kind: unwind.InRegister, Reg: s0}
	kept := func(off int64) unwind.Operand { return unwind.Operand{Kind: unwind.InRegister, Reg: s1, Off: off} }
	loaded := unwind.Operand{Kind: unwind.InMemory, Reg: s1, Off: 8}
	frame := unwind.Operand{Kind: unwind.InMemory, Reg: arch.SP, Off: 4, Size: 4} // holds 0
	term := func(op cpu.Op, a, b unwind.Operand, imm int64) unwind.Operand {
		return unwind.Operand{Kind: unwind.Computed, Of: &unwind.Term{Op: op, A: a, B: b, Imm: imm}}
	}
	two := term(cpu.OpAndImm, term(cpu.OpShrImm, kept(0x20), unwind.Operand{}, 4), unwind.Operand{}, 2)
	sum := term(cpu.OpOr, two, frame, 0)
	for _, tt := range []struct {
		what   string
		clue   unwind.Clue
		passed uint64 // what f was passed; main keeps pointer
		want   unwind.Trust
	}{
		{"one call passes 1, the other 2", unwind.Clue{Own: number(1), Other: number(2), Straight: true}, 1, unwind.Certain},
		{"f was passed what the other call passes", unwind.Clue{Own: number(1), Other: number(2), Straight: true}, 2, unwind.Likely},
		{"f was passed what neither passes: another function passed it on", unwind.Clue{Own: number(1), Other: number(2), Straight: true}, 3, unwind.Likely},
		{"nobody knows what this call passes, but it is not what the other does", unwind.Clue{Other: number(0), Straight: true}, 7, unwind.Certain},
		{"nor that, but a pointer, which another function may have written over before the call", unwind.Clue{Other: number(pointer), Straight: true}, other, unwind.Likely},
		{"one lost bit would make the one of the other", unwind.Clue{Other: number(0), Straight: true}, 8, unwind.Likely},
		{"the other call leads to f by way of a function that may pass something else on", unwind.Clue{Other: number(0)}, 7, unwind.Likely},
		{"a pointer that the caller keeps; the other call loads one", unwind.Clue{Own: kept(4), Other: loaded}, pointer + 4, unwind.Certain},
		{"a pointer that the caller does not keep", unwind.Clue{Own: kept(4), Other: loaded}, other, unwind.Likely},
		{"the other call computes a 2 from what the caller keeps; this one passes an int of its frame", unwind.Clue{Own: frame, Other: two, Straight: true}, 0, unwind.Certain},
		{"f was passed what the other call computes", unwind.Clue{Own: frame, Other: two, Straight: true}, 2, unwind.Likely},
		{"f was passed neither: this call's int may have changed", unwind.Clue{Own: frame, Other: two, Straight: true}, 7, unwind.Certain},
		{"f was passed neither, but one lost bit would make that the other's", unwind.Clue{Own: frame, Other: two, Straight: true}, 6, unwind.Likely},
		{"the other call computes from the frame, and nobody knows what this call passes", unwind.Clue{Other: sum, Straight: true}, 7, unwind.Likely},
		{"nothing is known of the other call", unwind.Clue{Own: kept(0)}, pointer, unwind.Likely},
	} {
		tt.clue.What, tt.clue.OfCallee = passed, true
		snap := stopped(arch, stackOf(arch))
		copy(snap.Modules[0].Image.Segments.Code((inMain^0x10)-8), snap.Modules[0].Image.Segments.Code(inMain - 8)[:4])
		snap.Threads[0].Regs.Set(s0, tt.passed)
		snap.Threads[0].Regs.Set(s1, pointer)
		calls := graph{holds: sameHundred, clues: map[uint64][][]unwind.Clue{inMain: {{tt.clue}}}}
		w := unwind.NewWalker(snap, unwind.Options{Sources: []unwind.Source{tables(arch, unwind.MethodCFI, 0)}, CallGraph: calls})
		for round := range 3 {
			if frames, _ := w.Walk(&snap.Threads[0], nil); len(frames) != 3 || frames[2].Trust != tt.want {
				t.Errorf("%s, round %d: %+v, want the last %v", tt.what, round, frames, tt.want)
			}
		}
	}
}
