// Package rule is the language of unwind rules: how the registers of a caller are
// recovered from those of its callee. It says what the rows of DWARF's call frame
// information say, and what sources without tables derive.
//
//	addiu sp, sp, -32            the rule of the instruction behind these:
//	sw    ra, 28(sp)                 CFA = RegPlus sp, 32
//	sw    s0, 24(sp)                 RA  = AtCFA -4
//	                                 s0  = AtCFA -8
package rule

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
)

// Kind says how one value of the caller is recovered. CFA is the frame's
// canonical frame address (DWARF 5 §6.4), reg the callee's value of Base, mem a
// read of one register-sized word.
type Kind uint8

const (
	// Unspecified: the ABI's default. A preserved register keeps its value, any
	// other is unknown.
	Unspecified   Kind = iota
	SameValue          // value = reg[Reg]
	Undefined          // value is lost; as RA: the end of the stack
	AtCFA              // value = mem[CFA + Off]
	CFAPlus            // value = CFA + Off
	AtReg              // value = mem[reg[Base] + Off] + Add
	RegPlus            // value = reg[Base] + Off
	Constant           // value = Off
	Expression         // value = mem[Expr]; the CFA is pushed first
	ValExpression      // value = Expr; the CFA is pushed first (not for the CFA itself)
)

// Register recovers one register. For the CFA and the return address Reg is
// NoReg. Off and Add are bytes.
type Register struct {
	Kind Kind
	Reg  cpu.Reg
	Base cpu.Reg
	Off  int64
	Add  int64
	Expr []byte // DWARF expression, for the Expression kinds only; not copied
}

// Flags say more about a Rule.
type Flags uint16

const (
	// SignalFrame: the frame is a signal trampoline (augmentation "S"); the
	// caller's PC is exact.
	SignalFrame Flags = 1 << iota
	// SignedRA: the return address carries a pointer authentication code.
	SignedRA
	// FromEntry: the function's entry is known from a symbol, a table or a call,
	// not only guessed. Set by code analysis.
	FromEntry
	// Agreed: two independent derivations gave this same rule. Set by code analysis.
	Agreed
	// Inferred: the return address itself is lost, and the rule names one of the calls that
	// may have led here (AArch64's __longjmp overwrites the link register). The rule is
	// not believed unless the caller's own frame is found.
	Inferred
	// Fallback: the rule is no more than a hint, found by a named fallback (the ABI
	// document's scan).
	Fallback
	// StartStated: the source states where the function begins, in Rule.Start.
	StartStated
	// Straight: no jump lies between the known entry and the PC. Set by code analysis.
	Straight
	// NoReturn: no path from the PC to a return was found, which would agree or not. Set by
	// code analysis.
	NoReturn
	// ExceptionFrame: the frame is that of entry code, which saved all registers of the code
	// that an exception interrupted; with SignalFrame.
	ExceptionFrame
	// Abandoned: the code at the PC is about to go on in a frame further out, whose registers may
	// already lie where the rule finds the caller's (__builtin_eh_return). Set by code analysis.
	Abandoned
	// SavedTwice: another slot of the frame held the return address as well, and is the source's next
	// answer. Set by code analysis.
	SavedTwice
	// OfCaller: the code at the PC returns by another register than functions do, and runs as part of the function that the
	// rule follows from: a table that takes that code for a function is wrong there. Set by code analysis.
	OfCaller
)

// Rule recovers the caller's registers from the callee's: where the CFA is, where
// the return address is, where each register was saved. Regs beyond N are
// meaningless; registers without an entry are Unspecified.
type Rule struct {
	CFA   Register
	RA    Register
	Flags Flags
	// Start is the image address where the function begins: as the source states it, with
	// StartStated; else a guess that serves to count functions.
	Start uint64
	N     int
	Regs  [cpu.MaxRegs]Register
}

// Reset makes r empty for reuse.
func (r *Rule) Reset() {
	r.CFA.clear()
	r.RA.clear()
	r.Flags, r.N = 0, 0
}

// clear makes a Unspecified; Expr may stay.
func (a *Register) clear() {
	a.Kind, a.Reg, a.Base, a.Off, a.Add = Unspecified, cpu.NoReg, cpu.NoReg, 0, 0
}

// Next appends the rule of a register, to be filled in: it is Unspecified. nil
// when there are cpu.MaxRegs already.
func (r *Rule) Next(reg cpu.Reg) *Register {
	if r.N >= len(r.Regs) {
		return nil
	}
	rr := &r.Regs[r.N]
	rr.clear()
	rr.Reg = reg
	r.N++
	return rr
}

// Add appends the rule of one register. More than cpu.MaxRegs are dropped.
func (r *Rule) Add(rr Register) {
	if r.N < len(r.Regs) {
		r.Regs[r.N] = rr
		r.N++
	}
}

// Of returns the rule of reg, Unspecified when there is none.
func (r *Rule) Of(reg cpu.Reg) Register {
	for i := range r.N {
		if r.Regs[i].Reg == reg {
			return r.Regs[i]
		}
	}
	return Register{Reg: reg, Base: cpu.NoReg}
}

// AtEntry tells whether the rule puts the CFA where the ABI has it on a function's entry.
func (r *Rule) AtEntry(arch *cpu.Arch) bool {
	return r.CFA.Kind == RegPlus && r.CFA.Base == arch.SP && r.CFA.Off == arch.EntryCFA
}

// Equal tells whether two rules recover the same CFA, return address and
// registers of set.
func (r *Rule) Equal(o *Rule, set cpu.RegSet) bool {
	if !r.CFA.equal(&o.CFA) || !r.RA.equal(&o.RA) {
		return false
	}
	for ; set != 0; set = set.Without(set.First()) {
		a, b := r.Of(set.First()), o.Of(set.First())
		if a.Kind == SameValue {
			a.Kind = Unspecified
		}
		if b.Kind == SameValue {
			b.Kind = Unspecified
		}
		if !a.equal(&b) {
			return false
		}
	}
	return true
}

func (a *Register) equal(b *Register) bool {
	if a.Kind != b.Kind || a.Off != b.Off || a.Add != b.Add {
		return false
	}
	switch a.Kind {
	case AtReg, RegPlus:
		return a.Base == b.Base
	case Expression, ValExpression:
		return string(a.Expr) == string(b.Expr)
	}
	return true
}

// Format writes a rule for people, with the register names of arch:
// "CFA=sp+32 RA=[CFA-4] s0=[CFA-8]".
func (r *Rule) Format(arch *cpu.Arch) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CFA=%s RA=%s", r.CFA.Format(arch), r.RA.Format(arch))
	for i := range r.N {
		fmt.Fprintf(&b, " %s=%s", arch.RegName(r.Regs[i].Reg), r.Regs[i].Format(arch))
	}
	return b.String()
}

// Format writes one register's rule for people.
func (a *Register) Format(arch *cpu.Arch) string {
	switch a.Kind {
	case Unspecified:
		return "?"
	case SameValue:
		if a.Reg != cpu.NoReg {
			return "same"
		}
		return arch.RegName(a.Base)
	case Undefined:
		return "undefined"
	case AtCFA:
		return fmt.Sprintf("[CFA%+d]", a.Off)
	case CFAPlus:
		return fmt.Sprintf("CFA%+d", a.Off)
	case AtReg:
		s := fmt.Sprintf("[%s%+d]", arch.RegName(a.Base), a.Off)
		if a.Add != 0 {
			s += fmt.Sprintf("%+d", a.Add)
		}
		return s
	case RegPlus:
		if a.Off == 0 {
			return arch.RegName(a.Base)
		}
		return fmt.Sprintf("%s%+d", arch.RegName(a.Base), a.Off)
	case Constant:
		return fmt.Sprintf("%#x", a.Off)
	case Expression:
		return "[expression]"
	}
	return "expression"
}
