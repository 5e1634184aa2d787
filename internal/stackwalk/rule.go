package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind/rule"
)

// The language of rules, under the names that a source with one import needs. Package rule
// documents each.
type (
	Rule      = rule.Rule
	RegRule   = rule.Register
	RuleFlags = rule.Flags
	Kind      = rule.Kind
)

// The kinds of register rules, see rule.Kind.
const (
	Unspecified   = rule.Unspecified
	SameValue     = rule.SameValue
	Undefined     = rule.Undefined
	AtCFA         = rule.AtCFA
	CFAPlus       = rule.CFAPlus
	AtReg         = rule.AtReg
	RegPlus       = rule.RegPlus
	Constant      = rule.Constant
	Expression    = rule.Expression
	ValExpression = rule.ValExpression
)

// What more a rule says, see rule.Flags.
const (
	SignalFrame = rule.SignalFrame
	SignedRA    = rule.SignedRA
	FromEntry   = rule.FromEntry
	Agreed      = rule.Agreed
	Inferred    = rule.Inferred
	Fallback    = rule.Fallback
	StartStated = rule.StartStated
	Straight    = rule.Straight
	NoReturn    = rule.NoReturn

	ExceptionFrame = rule.ExceptionFrame
	Abandoned      = rule.Abandoned
	SavedTwice     = rule.SavedTwice
	OfCaller       = rule.OfCaller
)

// Operand is a value in terms of a frame at a call.
type Operand struct {
	Kind OperandKind
	Reg  cpu.Reg
	Off  int64
	Size uint8 // of InMemory, in bytes; 0: a word
}

// OperandKind says where an Operand's value is. SP stands for the frame's CFA.
type OperandKind uint8

// The kinds.
const (
	Anything   OperandKind = iota // nothing is known
	Number                        // Off
	InRegister                    // what Reg holds, plus Off
	InMemory                      // the word at what Reg holds plus Off
)

// value is the value of the operand in a frame with these registers and this CFA.
func (o *Operand) value(snap *target.Snapshot, regs *cpu.Registers, cfa uint64) (v uint64, ok bool) {
	mask := snap.Arch.AddrMask()
	switch {
	case o.Kind == Number:
		return uint64(o.Off) & mask, true
	case o.Kind == Anything:
		return 0, false
	case o.Reg == snap.Arch.SP:
		v, ok = cfa, true
	default:
		v, ok = regs.Lookup(o.Reg)
	}
	v = (v + uint64(o.Off)) & mask
	switch {
	case !ok || o.Kind != InMemory:
		return v, ok
	case o.Size != 0:
		return snap.Memory.Uint(v, int(o.Size))
	}
	return snap.Memory.Word(v)
}

// Argument is where a function still holds what it was passed in a register, in terms of its frame.
type Argument struct {
	Reg cpu.Reg
	At  Operand
}

// passedValue is what a function was passed in a register.
type passedValue struct {
	reg   cpu.Reg
	value uint64
}
