package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind/rule"
)

// Verdict is a source's answer.
type Verdict uint8

const (
	// Found: out is filled.
	Found Verdict = iota
	// NotCovered: the source knows nothing of this PC, or has no further answer.
	NotCovered
	// Malformed: the data that should tell is damaged.
	Malformed
	// Unsupported: the data uses a feature that this source does not implement.
	Unsupported
	// EndOfStack: the source knows that this is the outermost frame.
	EndOfStack
	// NoCaller: the function has left the stack that it was called on (longjmp, behind
	// its switch of SP): the place where the thread goes on did not call the function.
	NoCaller
	// NotCaptured: the memory that should tell is missing from the capture.
	NotCaptured
	// TooCostly: the walk has cost as much as a walk may; the source is not asked.
	TooCostly
	verdictCount
)

var verdictNames = [verdictCount]string{"found", "not covered", "malformed", "unsupported", "end of stack",

	"no caller", "memory was not captured", "the walk has cost enough"}

func (v Verdict) String() string {
	if v < verdictCount {
		return verdictNames[v]
	}
	return "?"
}

// Attempt reports one question to a source, for explanations.
type Attempt struct {
	Frame   int // number of the frame that was being unwound
	Method  Method
	Try     int
	Verdict Verdict
	// Rule is set when a rule was found; valid during the callback only.
	Rule *rule.Rule
	Arch *cpu.Arch
	// PC and CFA are what the rule or the frame source yielded, if Applied.
	PC, CFA uint64
	Applied bool
	Checks  Checks
	Trust   Trust
	// Taken tells whether the answer was the best so far.
	Taken bool
	// Reason says in words why the answer was declined; "" when taken.
	Reason string
}
