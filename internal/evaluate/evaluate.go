// Package evaluate recovers a caller's registers from its callee's, as a rule says: the one
// interpreter for the rules of all sources, DWARF expressions included.
package evaluate

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind/rule"
)

// Outcome of applying a rule.
type Outcome uint8

const (
	// Applied: the caller's registers are in out.
	Applied Outcome = iota
	// RuleEnds: the rule says that there is no caller.
	RuleEnds
	// MissingRegister: the rule needs a register that is unknown.
	MissingRegister
	// MissingMemory: the rule needs memory that was not captured; the address is
	// in Result.Addr.
	MissingMemory
	// BadExpression: a DWARF expression is damaged.
	BadExpression
)

// Result of applying a rule, beside the registers.
type Result struct {
	CFA  uint64
	PC   uint64 // the return address as stored, mode bit included
	Addr uint64
}

// Rule recovers the caller's registers. SP becomes the CFA; PC the return address, stripped by codeMask when
// the rule says that it is signed; registers that no rule names follow the ABI.
// A preserved register whose slot was not captured becomes unknown, it does not
// fail the step. in and out may not alias.
func Rule(arch *cpu.Arch, r *rule.Rule, in *cpu.Registers, mem *target.Memory, codeMask uint64, out *cpu.Registers) (Result, Outcome) {
	a := applier{arch: arch, in: in, mem: mem, mask: arch.AddrMask()}
	if r.RA.Kind == rule.Undefined {
		return a.res, RuleEnds
	}
	cfa, oc := a.value(&r.CFA)
	if oc != Applied {
		return a.res, oc
	}
	a.res.CFA, a.hasCFA = cfa&a.mask, true
	ra, oc := a.value(&r.RA)
	if oc != Applied {
		return a.res, oc
	}
	a.res.PC = ra & a.mask
	if codeMask != 0 && r.Flags&rule.SignedRA != 0 {
		a.res.PC = target.Unsigned(a.res.PC, codeMask)
	}
	a.keep(out)
	for i := range r.N {
		rr := &r.Regs[i]
		if v, oc := a.value(rr); oc == Applied {
			out.Set(rr.Reg, v)
		} else {
			out.Forget(rr.Reg)
		}
	}
	if r.Of(arch.SP).Kind == rule.Unspecified {
		out.Set(arch.SP, a.res.CFA)
	}
	out.Set(arch.PC, a.res.PC)
	return a.res, Applied
}

// applier applies one rule.
type applier struct {
	arch *cpu.Arch
	in   *cpu.Registers
	mem  *target.Memory
	mask uint64
	res  Result
	// hasCFA: res.CFA is known, the rules of registers are next.
	hasCFA bool
}

// keep copies what the ABI preserves.
func (a *applier) keep(out *cpu.Registers) {
	out.Known = a.in.Known & a.arch.Preserved
	for s := out.Known; s != 0; s = s.Without(s.First()) {
		out.Val[s.First()] = a.in.Val[s.First()]
	}
}

func (a *applier) value(r *rule.Register) (uint64, Outcome) {
	switch r.Kind {
	case rule.SameValue:
		reg := r.Reg
		if reg == cpu.NoReg {
			reg = r.Base
		}
		return a.reg(reg, 0)
	case rule.AtCFA:
		return a.load(a.res.CFA + uint64(r.Off))
	case rule.CFAPlus:
		return a.res.CFA + uint64(r.Off), Applied
	case rule.AtReg:
		p, oc := a.reg(r.Base, r.Off)
		if oc != Applied {
			return 0, oc
		}
		v, oc := a.load(p)
		return v + uint64(r.Add), oc
	case rule.RegPlus:
		return a.reg(r.Base, r.Off)
	case rule.Constant:
		return uint64(r.Off), Applied
	case rule.Expression, rule.ValExpression:
		v, oc := expression(r.Expr, a.arch, a.in, a.mem, a.res.CFA, a.hasCFA)
		if oc == MissingMemory {
			a.res.Addr = v
		}
		if oc != Applied || r.Kind == rule.ValExpression {
			return v, oc
		}
		return a.load(v)
	}
	return 0, MissingRegister
}

func (a *applier) reg(r cpu.Reg, off int64) (uint64, Outcome) {
	v, ok := a.in.Lookup(r)
	if !ok {
		return 0, MissingRegister
	}
	return v + uint64(off), Applied
}

// load reads one saved register.
func (a *applier) load(addr uint64) (uint64, Outcome) {
	addr &= a.mask
	v, ok := a.mem.Uint(addr, a.arch.RegSize)
	if !ok {
		a.res.Addr = addr
		return 0, MissingMemory
	}
	return v, Applied
}
