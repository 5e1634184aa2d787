package cfi

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/stackwalk"
)

// simplify restates the expressions of a rule as what they come to, where that is a
// register and an offset: such a rule can be packed, and compared with others.
//
//	breg6 -8, deref                                            CFA=[rbp-8]: GCC's realigned frames
//	breg6 -16                                                  rbx=[rbp-16], in these
//	breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus  CFA=rsp+8 or rsp+16: a PLT stub, by its PC
//
// pc is the PC where it is exact, else 0.
func (s *section) simplify(out *stackwalk.Rule, pc uint64) {
	s.restate(&out.CFA, false, pc)
	s.restate(&out.RA, true, pc)
	for i := range out.N {
		s.restate(&out.Regs[i], true, pc)
	}
}

// expressed tells whether a rule has an expression.
func expressed(r *stackwalk.Rule) bool {
	is := func(r *stackwalk.RegRule) bool {
		return r.Kind == stackwalk.Expression || r.Kind == stackwalk.ValExpression
	}
	some := is(&r.CFA) || is(&r.RA)
	for i := range r.N {
		some = some || is(&r.Regs[i])
	}
	return some
}

// restate replaces a rule with an expression. A register's begins with the CFA on the
// stack.
func (s *section) restate(r *stackwalk.RegRule, cfa bool, pc uint64) {
	if r.Kind != stackwalk.Expression && r.Kind != stackwalk.ValExpression {
		return
	}
	x := symbolic{arch: s.arch, slots: s.slots, pc: pc}
	if cfa {
		x.push(term{base: theCFA})
	}
	if sum, ok := x.evaluate(r.Expr); ok && sum.base != cpu.NoReg && sum.base != s.arch.PC {
		sum.rule(r)
	}
}

// rule makes r say what t is, if a rule can.
func (t term) rule(r *stackwalk.RegRule) {
	if r.Kind == stackwalk.Expression {
		if t.loaded {
			return
		}
		t.loaded = true
	}
	simple := stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: r.Reg, Base: t.base, Off: t.off, Add: t.add}
	switch {
	case t.base != theCFA:
		if t.loaded {
			simple.Kind = stackwalk.AtReg
		}
	case t.loaded && t.add != 0:
		return
	default:
		simple.Kind, simple.Base = stackwalk.CFAPlus, cpu.NoReg
		if t.loaded {
			simple.Kind = stackwalk.AtCFA
		}
	}
	*r = simple
}

// term is base + off or, loaded, mem[base + off] + add. base may be theCFA or, of a
// constant, NoReg.
type term struct {
	base     cpu.Reg
	off, add int64
	loaded   bool
}

const theCFA = cpu.MaxRegs

// symbolic evaluates expressions over terms.
type symbolic struct {
	arch  *cpu.Arch
	slots *slots
	pc    uint64
	stack [6]term
	n     int
}

func (x *symbolic) push(t term) bool {
	if x.n == len(x.stack) {
		return false
	}
	x.stack[x.n] = t
	x.n++
	return true
}

func (x *symbolic) pop() (t term, ok bool) {
	if x.n == 0 {
		return t, false
	}
	x.n--
	return x.stack[x.n], true
}

// Operations of DWARF 5 §7.7.1.
const (
	opDeref      = 0x06
	opAnd        = 0x1a
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opGe         = 0x2a
	opLit0       = 0x30
	opReg0       = 0x50
	opBreg0      = 0x70
	opRegx       = 0x90
)

func (x *symbolic) evaluate(expr []byte) (term, bool) {
	for r := bin.New(expr, x.arch.BigEndian); r.Len() > 0; {
		if !x.step(r.U8(), &r) || r.Err() != nil {
			return term{}, false
		}
	}
	return x.pop()
}

func (x *symbolic) step(op uint8, r *bin.Reader) bool {
	switch {
	case op >= opLit0 && op < opReg0:
		return x.push(term{base: cpu.NoReg, off: int64(op - opLit0)})
	case op >= opBreg0 && op < opRegx:
		base := x.slots.reg(uint64(op - opBreg0))
		return x.push(term{base: base, off: r.SLEB()}) && base != cpu.NoReg
	}
	t, ok := x.pop()
	switch {
	case !ok:
	case op == opDeref:
		ok = !t.loaded && t.base != cpu.NoReg && x.arch.AddrSize == x.arch.RegSize
		t.loaded = true
	case op == opPlusUconst:
		t = t.plus(int64(r.ULEB()))
	default:
		var first term
		if first, ok = x.pop(); ok {
			t, ok = x.binary(op, first, t)
		}
	}
	return ok && x.push(t)
}

func (t term) plus(n int64) term {
	if t.loaded {
		t.add += n
	} else {
		t.off += n
	}
	return t
}

// binary computes a op b. Of the PC the bits within a page are those of the image.
func (x *symbolic) binary(op uint8, a, b term) (term, bool) {
	if b.base != cpu.NoReg {
		a, b = b, a
		if op != opPlus {
			return a, false
		}
	}
	constant := a.base == cpu.NoReg && b.base == cpu.NoReg
	switch {
	case op == opPlus && b.base == cpu.NoReg:
		return a.plus(b.off), true
	case op == opAnd && constant:
		a.off &= b.off
	case op == opAnd && a.base == x.arch.PC && !a.loaded && b.base == cpu.NoReg && b.off&^0xfff == 0 && x.pc != 0:
		return term{base: cpu.NoReg, off: (int64(x.pc) + a.off) & b.off}, true
	case op == opShl && constant && uint64(b.off) < 32:
		a.off <<= b.off
	case op == opGe && constant:
		ge := a.off >= b.off
		if a.off = 0; ge {
			a.off = 1
		}
	default:
		return a, false
	}
	return a, true
}
