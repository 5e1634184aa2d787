package rules

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/stackwalk"
)

// FromPath is the rule at a place that a way out implies.
func FromPath(p *dataflow.ReturnPath, arch *cpu.Arch) (out stackwalk.Rule) {
	out.Reset()
	out.CFA, out.RA = asRule(p.CFA), asRule(p.RA)
	if len(p.Sum.Terms) > 0 {
		out.CFA = sum(&p.Sum, arch)
	}
	overCFA(&out.RA, &out.CFA)
	if p.RA == (absint.Value{}) {
		out.RA.Kind, out.RA.Off = stackwalk.AtCFA, -arch.EntryCFA
	}
	for _, c := range p.Changed {
		rr := asRule(c.Val)
		if rr.Kind == stackwalk.Unspecified || c.Val.Kind != absint.Constant && !c.Val.OfRegister() {
			rr.Kind = stackwalk.Undefined
		}
		rr.Reg = c.Reg
		overCFA(&rr, &out.CFA)
		out.Add(rr)
	}
	if p.Exception {
		out.Flags |= stackwalk.SignalFrame | stackwalk.ExceptionFrame
	}
	if p.BankedSP {
		out.Add(stackwalk.RegRule{Kind: stackwalk.Undefined, Reg: arch.SP, Base: cpu.NoReg})
	}
	return out
}

// The operations of DWARF expressions (DWARF 5 §7.7.1) that a sum takes.
const (
	opConst8s = 0x0f
	opMinus   = 0x1c
	opPlus    = 0x22
	opBregx   = 0x92
)

// sum is the CFA as a sum of registers.
func sum(s *absint.Sum, arch *cpu.Arch) stackwalk.RegRule {
	word := binary.LittleEndian // of x86
	expr := word.AppendUint64([]byte{opConst8s}, uint64(s.Off))
	for _, t := range s.Terms {
		op := byte(opPlus)
		if t.Minus {
			op = opMinus
		}
		expr = append(binary.AppendUvarint(append(expr, opBregx), uint64(arch.Regs[t.Reg].DWARF)), 0, op)
	}
	return stackwalk.RegRule{Kind: stackwalk.ValExpression, Reg: cpu.NoReg, Base: cpu.NoReg, Expr: expr}
}

// asRule turns a value in terms of the registers at the start into a rule over them, of no
// kind where no rule can say the value.
func asRule(v absint.Value) stackwalk.RegRule {
	rr := stackwalk.RegRule{Reg: cpu.NoReg, Base: cpu.Reg(v.Base), Off: v.Off, Add: int64(v.Add)}
	switch v.Kind {
	case absint.Constant:
		rr.Kind, rr.Base = stackwalk.Constant, cpu.NoReg
	case absint.StartRelative:
		rr.Kind = stackwalk.RegPlus
	case absint.StartMemory:
		rr.Kind = stackwalk.AtReg
	}
	return rr
}

// overCFA restates a slot that is given by the CFA's own base register.
func overCFA(rr, cfa *stackwalk.RegRule) {
	if rr.Kind == stackwalk.AtReg && cfa.Kind == stackwalk.RegPlus && rr.Base == cfa.Base && rr.Add == 0 {
		rr.Kind, rr.Off, rr.Base = stackwalk.AtCFA, rr.Off-cfa.Off, cpu.NoReg
	}
}
