package unwind

import "github.com/backsight/backsight/unwind/rule"

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
)
