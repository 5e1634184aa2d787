package absint

import (
	"slices"

	"github.com/backsight/backsight/cpu"
)

// Sum is an address as a sum of registers at the start, with their signs, and Off. A stack probe moves SP in a loop that counts
// down another register, so that no constant lies between SP and where SP was; what is left to do tells:
//
//	sub %r11,%rsp; add %rax,%rsp; ret      rsp − r11 + rax
type Sum struct {
	Terms []Term
	Off   int64
}

// Term is a register of a Sum.
type Term struct {
	Reg   cpu.Reg
	Minus bool
}

// maxTerms bounds the terms of a sum: one more than stack probes need.
const maxTerms = 4

// addUp is what the instruction at pc leaves in SP: a register plus a constant where the others cancel, else a symbol, whose
// sum is noted, or unknown.
func (m *Interp) addUp(s *State, in *cpu.Insn, pc uint64) Value {
	if in.Op != cpu.OpAdd && in.Op != cpu.OpSub || in.Scale != 0 || in.Flags != 0 {
		return Value{}
	}
	sum, known := m.Sum(s.Get(in.Src))
	other, both := m.Sum(s.Get(in.Src2))
	if !known || !both || len(sum.Terms)+len(other.Terms) > maxTerms {
		return Value{}
	}
	sum.Terms = slices.Clone(sum.Terms)
	if in.Op == cpu.OpSub {
		other.Off = -other.Off
	}
	sum.Off += other.Off
	for _, t := range other.Terms {
		t.Minus = t.Minus != (in.Op == cpu.OpSub)
		if i := slices.Index(sum.Terms, Term{t.Reg, !t.Minus}); i >= 0 {
			sum.Terms = slices.Delete(sum.Terms, i, i+1)
		} else {
			sum.Terms = append(sum.Terms, t)
		}
	}
	if len(sum.Terms) == 1 && !sum.Terms[0].Minus {
		return StartOf(sum.Terms[0].Reg).Plus(sum.Off)
	}
	v := m.symbol(pc)
	if v.Kind != Unknown {
		m.Sums[v.Base] = sum
	}
	return v
}

// Sum is what is known of a value as a sum.
func (m *Interp) Sum(v Value) (Sum, bool) {
	if v.Kind != StartRelative {
		return Sum{}, false
	}
	if v.OfRegister() {
		return Sum{[]Term{{Reg: cpu.Reg(v.Base)}}, v.Off}, true
	}
	sum, ok := m.Sums[v.Base]
	sum.Off += v.Off
	return sum, ok
}
