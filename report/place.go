package report

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
	"github.com/backsight/backsight/unwind/rule"
)

// Place is what there is to say about an address of a binary: its unwind rule by
// every source, and the code around. Addresses are image addresses.
type Place struct {
	Image *image.Image
	PC    uint64
	Mode  cpu.Mode
	// Call: PC is a return address.
	Call     bool
	Location symbol.Location
	// Lo and Hi bound the function; Bounds says how they are known, "" where they
	// are not.
	Lo, Hi  uint64
	Bounds  string
	Answers []Answer
	// Source is the name of the source with the best answer: Lines have the rules of that
	// source. "" where no source has a rule.
	Source string
	Lines  []Line
	// Issues are why names may be missing.
	Issues []target.Issue
}

// Answer is what one source says of a place.
type Answer struct {
	// Source is the name of the source, as in backsight.Source.
	Source string
	// Rules are the source's rules for the place, the most believable first.
	Rules []rule.Rule
	// Verdict is the source's answer when it is asked for a rule after the last one.
	Verdict unwind.Verdict
	// Notes say how the source came to its rules, one line each.
	Notes []string
}

// Line is one instruction and the rule before it.
type Line struct {
	Addr    uint64
	Code    []byte
	Insn    cpu.Insn
	Rule    rule.Rule
	HasRule bool
	// Target is the function that a call or jump goes to, or into, "" where it has no
	// name; TargetOffset is how far into it, in bytes.
	Target       string
	TargetOffset uint64
}
