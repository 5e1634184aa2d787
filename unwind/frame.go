// Package unwind says what a walk of a stack gives: frames, innermost first, each with the way in which the frame was found
// (Method), what speaks for and against the frame (Checks) and how sure it is (Trust); and why the walk ended (Stop).
package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Frame is one activation on the stack. Addresses are target addresses.
type Frame struct {
	// PC is where the frame resumes: the PC itself in the innermost and in
	// interrupted frames (Exact), else the return address; mode bit cleared.
	PC uint64
	// CallSite is the address to look up: PC when Exact, else inside the call.
	CallSite uint64
	// CFA is SP in the caller at its call; HasCFA tells whether the CFA is known. The
	// outermost frame has no CFA.
	CFA uint64
	// Module is where CallSite lies, nil outside all modules.
	Module *target.Module
	Checks Checks
	Mode   cpu.Mode
	Method Method
	Trust  Trust
	Cap    Cap // why Trust is lower than Checks have it
	HasCFA bool
	Exact  bool
}

// StopReason says why a walk ended.
type StopReason uint8

// The reasons, in the contract's words.
const (
	StopRoot       StopReason = iota // the outermost frame was reached
	StopNullPC                       // the return address is 0
	StopNoRule                       // no source knows how to go on
	StopUnreadable                   // memory that the rule needs was not captured
	StopNoProgress                   // the caller would not lie above the callee
	StopLoop                         // the same frame again
	StopLimit                        // more frames than asked for
	StopCost                         // the walk has cost as much as a walk may
	stopCount
)

var stopNames = [stopCount]string{"root", "null-pc", "no-rule", "unreadable", "no-progress", "loop", "limit", "cost"}

func (r StopReason) String() string {
	if r < stopCount {
		return stopNames[r]
	}
	return "?"
}

var stopMeans = [stopCount]string{
	"the chain is whole: nothing called its outermost frame",
	"the return address is 0, as where a chain ends, or where the stack was overwritten",
	"nothing tells how to go on from there",
	"memory that is needed to go on was not captured",
	"what stands there leads back into the stack, not further out",
	"what stands there leads to a frame that was seen before",
	"there are more frames than asked for (-n)",
	"to go on would cost more work than a capture of this size may",
}

// Means says the reason in words.
func (r StopReason) Means() string {
	if r < stopCount {
		return stopMeans[r]
	}
	return "?"
}

// StopReasons are all reasons, in the order of their numbers.
func StopReasons() []StopReason {
	all := make([]StopReason, stopCount)
	for i := range all {
		all[i] = StopReason(i)
	}
	return all
}

// Stop is the end of a walk. Addr is the PC without a rule, the address that
// could not be read, or what else the reason is about.
type Stop struct {
	Reason StopReason
	Addr   uint64
}
