package debugframe

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// Call frame instructions (DWARF 5 §7.24) and what else is written.
const (
	opAdvanceLoc            = 0x40
	opOffset                = 0x80
	opRestore               = 0xc0
	opAdvanceLoc1           = 0x02
	opAdvanceLoc2           = 0x03
	opAdvanceLoc4           = 0x04
	opOffsetExtended        = 0x05
	opRestoreExtended       = 0x06
	opUndefined             = 0x07
	opSameValue             = 0x08
	opRegister              = 0x09
	opRememberState         = 0x0a
	opRestoreState          = 0x0b
	opDefCFA                = 0x0c
	opDefCFARegister        = 0x0d
	opDefCFAOffset          = 0x0e
	opDefCFAExpression      = 0x0f
	opExpression            = 0x10
	opOffsetExtendedSF      = 0x11
	opDefCFASF              = 0x12
	opDefCFAOffsetSF        = 0x13
	opValOffsetSF           = 0x15
	opValExpression         = 0x16
	opNegateRAState         = 0x2d // AADWARF64: the return address is signed, or no longer
	opDeref                 = 0x06 // of expressions (DWARF 5 §7.7.1)
	opConsts                = 0x11
	opPlus                  = 0x22
	opPlusUconst            = 0x23
	opBReg0                 = 0x70
	opBRegX                 = 0x92
	encodingPCRel4     byte = 0x1b // DW_EH_PE_pcrel | DW_EH_PE_sdata4
)

// alternateColumn is a column of no register that is ever saved, for processors without a DWARF
// number for the PC: behind HI and LO of MIPS, and the floating-point registers of RISC-V.
const alternateColumn = 66

// raColumn is the column of the return address: that of the link register or, where calls push
// the return address, of the PC. A signal's trampoline restores both.
func raColumn(a *cpu.Arch, signal bool) uint64 {
	switch pc := a.Regs[a.PC].DWARF; {
	case a.LR != cpu.NoReg && !signal:
		return uint64(a.Regs[a.LR].DWARF)
	case pc >= 0:
		return uint64(pc)
	}
	return alternateColumn
}

// entryRule is what holds on entry to a function.
func entryRule(a *cpu.Arch) tables.Rule {
	s := tables.Rule{CFA: rule.Register{Kind: rule.RegPlus, Base: a.SP, Off: a.EntryCFA}, RA: rule.Register{Kind: rule.RegPlus, Base: a.LR}}
	if a.CallPushesRA {
		s.RA = rule.Register{Kind: rule.AtCFA, Off: -a.EntryCFA}
	}
	return s
}

// inexpressible says why a rule cannot be said, "" where it can.
func inexpressible(a *cpu.Arch, r *tables.Rule) string {
	if r.RA.Kind == rule.Undefined {
		return ""
	}
	if why := badBase(a, &r.CFA); why != "" {
		return why
	}
	switch r.CFA.Kind {
	case rule.RegPlus, rule.AtReg, rule.ValExpression:
	default:
		return "the CFA is " + r.CFA.Format(a)
	}
	if r.RA.Kind == rule.Unspecified {
		return "nothing is known of the return address"
	}
	for i := range r.Regs {
		if why := badBase(a, &r.Regs[i]); why != "" {
			return why
		}
	}
	return badBase(a, &r.RA)
}

// badBase says that DWARF has no number for the register that a value is relative to.
func badBase(a *cpu.Arch, r *rule.Register) string {
	if (r.Kind == rule.AtReg || r.Kind == rule.RegPlus) && (int(r.Base) >= len(a.Regs) || a.Regs[r.Base].DWARF < 0) {
		return fmt.Sprintf("DWARF has no number for %s", a.RegName(r.Base))
	}
	return ""
}

// change appends the instructions that make one row of another.
func change(b []byte, a *cpu.Arch, from, to *tables.Rule) []byte {
	if from.Flags&rule.SignedRA != to.Flags&rule.SignedRA {
		b = append(b, opNegateRAState)
	}
	if to.RA.Kind != rule.Undefined {
		b = define(b, a, &from.CFA, &to.CFA)
	}
	if !same(&from.RA, &to.RA) {
		b = returnAddress(b, a, to)
	}
	i, k, signal := 0, 0, isSignal(to)
	for i < len(from.Regs) || k < len(to.Regs) {
		switch {
		case k == len(to.Regs) || i < len(from.Regs) && from.Regs[i].Reg < to.Regs[k].Reg:
			b = register(b, a, &from.Regs[i], &rule.Register{Reg: from.Regs[i].Reg}, signal)
			i++
		case i == len(from.Regs) || to.Regs[k].Reg < from.Regs[i].Reg:
			b = register(b, a, &rule.Register{Reg: to.Regs[k].Reg}, &to.Regs[k], signal)
			k++
		default:
			b = register(b, a, &from.Regs[i], &to.Regs[k], signal)
			i, k = i+1, k+1
		}
	}
	return b
}

// then is what holds once change has been applied: the outermost frame has the CFA of the row
// before.
func then(from, to *tables.Rule) tables.Rule {
	now := *to
	if to.RA.Kind == rule.Undefined {
		now.CFA = from.CFA
	}
	return now
}

// same tells whether two values are recovered alike.
func same(x, y *rule.Register) bool {
	return x.Kind == y.Kind && x.Off == y.Off && x.Add == y.Add && string(x.Expr) == string(y.Expr) &&
		(x.Base == y.Base || x.Kind != rule.AtReg && x.Kind != rule.RegPlus)
}

// define appends what makes another CFA.
func define(b []byte, a *cpu.Arch, from, to *rule.Register) []byte {
	if same(from, to) {
		return b
	}
	if to.Kind != rule.RegPlus {
		expr := to.Expr
		if to.Kind == rule.AtReg {
			expr = loaded(a, to)
		}
		return block(append(b, opDefCFAExpression), expr)
	}
	base := uint64(a.Regs[to.Base].DWARF)
	factor := -int64(a.RegSize)
	switch relative := from.Kind == rule.RegPlus; {
	case to.Off < 0 && to.Off%factor != 0:
		return block(append(b, opDefCFAExpression), address(a, to))
	case to.Off < 0 && relative && from.Base == to.Base:
		return sleb(append(b, opDefCFAOffsetSF), to.Off/factor)
	case to.Off < 0:
		return sleb(uleb(append(b, opDefCFASF), base), to.Off/factor)
	case relative && from.Base == to.Base:
		return uleb(append(b, opDefCFAOffset), uint64(to.Off))
	case relative && from.Off == to.Off:
		return uleb(append(b, opDefCFARegister), base)
	}
	return uleb(uleb(append(b, opDefCFA), base), uint64(to.Off))
}

// returnAddress appends the rule of the return address's column.
func returnAddress(b []byte, a *cpu.Arch, of *tables.Rule) []byte {
	n, to := raColumn(a, isSignal(of)), &of.RA
	if to.Kind == rule.RegPlus && to.Base == a.LR && to.Off == 0 {
		return uleb(append(b, opSameValue), n)
	}
	return column(b, a, n, to)
}

func isSignal(r *tables.Rule) bool { return r.Flags&rule.SignalFrame != 0 }

// register appends the rule of a register, if DWARF has a number for it.
func register(b []byte, a *cpu.Arch, from, to *rule.Register, signal bool) []byte {
	n := a.Regs[to.Reg].DWARF
	if n < 0 || uint64(n) == raColumn(a, signal) || same(from, to) {
		return b
	}
	if to.Reg == a.SP && to.Kind == rule.CFAPlus && to.Off == 0 && from.Kind == rule.Unspecified {
		return b // by default
	}
	return column(b, a, uint64(n), to)
}

// column appends the rule of a column.
func column(b []byte, a *cpu.Arch, n uint64, to *rule.Register) []byte {
	factor := -int64(a.RegSize)
	switch to.Kind {
	case rule.Unspecified:
		if n < 0x40 {
			return append(b, opRestore|byte(n))
		}
		return uleb(append(b, opRestoreExtended), n)
	case rule.SameValue:
		return uleb(append(b, opSameValue), n)
	case rule.Undefined:
		return uleb(append(b, opUndefined), n)
	case rule.AtCFA:
		return atCFA(b, a, n, to.Off)
	case rule.CFAPlus:
		if to.Off%factor == 0 {
			return sleb(uleb(append(b, opValOffsetSF), n), to.Off/factor)
		}
		return block(uleb(append(b, opValExpression), n), plus(nil, to.Off))
	case rule.RegPlus:
		if to.Off == 0 {
			return uleb(uleb(append(b, opRegister), n), uint64(a.Regs[to.Base].DWARF))
		}
		return block(uleb(append(b, opValExpression), n), address(a, to))
	case rule.AtReg:
		if to.Add == 0 {
			return block(uleb(append(b, opExpression), n), address(a, to))
		}
		return block(uleb(append(b, opValExpression), n), loaded(a, to))
	case rule.Constant:
		return block(uleb(append(b, opValExpression), n), sleb([]byte{opConsts}, to.Off))
	case rule.Expression:
		return block(uleb(append(b, opExpression), n), to.Expr)
	}
	return block(uleb(append(b, opValExpression), n), to.Expr)
}

// atCFA appends that a register lies in the frame.
func atCFA(b []byte, a *cpu.Arch, n uint64, off int64) []byte {
	factored := off / -int64(a.RegSize)
	switch {
	case off%int64(a.RegSize) != 0:
		return block(uleb(append(b, opExpression), n), plus(nil, off))
	case factored < 0:
		return sleb(uleb(append(b, opOffsetExtendedSF), n), factored)
	case n < 0x40:
		return uleb(append(b, opOffset|byte(n)), uint64(factored))
	}
	return uleb(uleb(append(b, opOffsetExtended), n), uint64(factored))
}

// block appends an expression with its length.
func block(b, expr []byte) []byte { return append(uleb(b, uint64(len(expr))), expr...) }

// address is the expression of a register plus an offset.
func address(a *cpu.Arch, r *rule.Register) []byte {
	n := uint64(a.Regs[r.Base].DWARF)
	if n < 32 {
		return sleb([]byte{opBReg0 + byte(n)}, r.Off)
	}
	return sleb(uleb([]byte{opBRegX}, n), r.Off)
}

// loaded is the expression of the word at a register plus an offset, with what is added to it.
// A slot may be larger than an address (n32): the address is its low half.
func loaded(a *cpu.Arch, r *rule.Register) []byte {
	slot := *r
	if a.BigEndian {
		slot.Off += int64(a.RegSize - a.AddrSize)
	}
	return plus(append(address(a, &slot), opDeref), r.Add)
}

// plus appends the addition of a number to an expression.
func plus(b []byte, n int64) []byte {
	switch {
	case n > 0:
		return uleb(append(b, opPlusUconst), uint64(n))
	case n < 0:
		return append(sleb(append(b, opConsts), n), opPlus)
	}
	return b
}
