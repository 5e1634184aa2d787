// Package report is what Backsight has to say about a capture: every thread's call
// chain with names, and, of a place in a binary, its unwind rule. Package backsight
// makes reports. Package render writes them; a program that wants the data takes it
// from here, without any renderer.
package report

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
	"github.com/backsight/backsight/unwind/rule"
)

// Report is what there is to say about one snapshot.
type Report struct {
	// Snapshot is nil where none could be read; Issues say why.
	Snapshot *target.Snapshot
	Threads  []Thread
	// Crash is why the program stopped, nil where the capture tells of no fault, or where
	// the thread that it hit is not among Threads.
	Crash *Crash
	// Issues are the capture's and what else went wrong.
	Issues []target.Issue
	// Advice is nil where nobody asked.
	Advice *Advice
}

// Thread is one thread's call chain, innermost frame first.
type Thread struct {
	*target.Thread
	Frames []Frame
	// Repeats are turns of recursion that Frames leave out.
	Repeats unwind.Repeats
	Stop    unwind.Stop
	// Tried[i] are the attempts to find frame i, the last of them those to find one
	// more frame; nil where they were not asked for.
	Tried [][]Attempt
	// Kernel is how many of Frames, from the innermost on, are those of a machine's kernel, which the thread entered.
	Kernel int
	// Overwritten is a return address that is no code, nil where none was found.
	Overwritten *Overwritten
	// Created is the go statement that started the goroutine that the thread is, nil where none is known.
	Created *symbol.Location
	// Reasons are why the thread crashed, as Crash.Reasons has them, where the capture has several crashes and Report.Crash
	// is another one: a log's reports.
	Reasons []string
	// Signature names where the thread crashed or stands; nil where nobody asked, or where too many threads have one.
	Signature *Signature
}

// Count is how many frames the thread has, with those that Frames leave out.
func (t *Thread) Count() int { return t.Repeats.Count(len(t.Frames)) }

// Whole tells whether the chain reaches its root without a guess.
func (t *Thread) Whole() bool { return t.Stop.Reason == unwind.StopRoot && t.FirstGuess() < 0 }

// FirstGuess is the index of the innermost frame that is a guess, -1 for none.
func (t *Thread) FirstGuess() int {
	return slices.IndexFunc(t.Frames, func(f Frame) bool { return f.Trust == unwind.Guess })
}

// Frame is a frame and the name of its place. Frame.CallSite is the address that
// was looked up, a target address; Location.Entry is an image address. Neither is nil, and both are shared: the frame is the
// backtrace's, the location that of all frames at the place, so that a stack of a million frames takes little.
type Frame struct {
	*unwind.Frame
	*symbol.Location
	// Details is what was asked for besides, nil where nothing was: most frames of most reports have none.
	Details *Details
}

// Details are what is around a frame, each nil where it was not asked for or is not known.
type Details struct {
	// Size, if HasSize, is how many bytes the function keeps on the stack at this place, by its code or tables. The
	// CFA is not known then.
	Size    uint64
	HasSize bool
	// TailCaller is the function that the call of the next frame out goes to, where that is another one than the frame's: it left
	// the stack by a jump to the frame's function, maybe by way of others.
	TailCaller *symbol.Location
	// Code and Source are around the frame's CallSite.
	Code   []Instruction
	Source []SourceLine
	// Variables are the arguments and locals, arguments first.
	Variables []Variable
}

// Detailed returns the frame's details, to be filled.
func (f *Frame) Detailed() *Details {
	if f.Details == nil {
		f.Details = new(Details)
	}
	return f.Details
}

// Instruction is an instruction at a target address. Text is the instruction as assemblers write it,
// "" for bytes that are no instruction; Insn is its effect on a stack. Here: the frame stands there.
type Instruction struct {
	Addr  uint64
	Bytes []byte
	Text  string
	Insn  cpu.Insn
	Here  bool
}

// SourceLine is a line of a source file, counted from 1. Here: the frame stands there.
type SourceLine struct {
	Number int
	Text   string
	Here   bool
}

// FunctionAt is the target address where the frame's function begins. It means
// nothing where Function is "".
func (f *Frame) FunctionAt() uint64 {
	if f.Module == nil {
		return f.Entry
	}
	return f.Module.ToTarget(f.Entry)
}

// HasAddress tells whether the frame's addresses are known: of a frame that the capture
// lists, only the name may be, or an offset in the binary.
func (f *Frame) HasAddress() bool {
	return (f.PC != 0 || f.Method != unwind.MethodPrewalked) && (f.Module == nil || f.Module.Stated != target.StatedOffsets)
}

// Attempt is an unwind.Attempt to keep: a walker's own is valid only while the
// walker tells of it.
type Attempt struct {
	// Attempt is as the walker told it, but for Rule, which is nil.
	unwind.Attempt
	// RuleText is the rule in words, "" for none.
	RuleText string
	// RASlot is the target address of the word that the rule took the return address from,
	// 0 where that was no word of memory.
	RASlot uint64
	// Saved are the words of memory that the rule took other registers from.
	Saved []Saved
}

// Saved is a register and the target address of the word where it was saved.
type Saved struct {
	Name string
	Slot uint64
}

// Keep makes an Attempt of one that a walker tells of.
func Keep(a unwind.Attempt) Attempt {
	k := Attempt{Attempt: a}
	if a.Rule != nil {
		k.RuleText = a.Rule.Format(a.Arch)
		if a.Applied {
			k.slots()
		}
	}
	k.Rule = nil
	return k
}

// slots finds the words that the rule read.
func (k *Attempt) slots() {
	slot := func(off int64) uint64 { return (k.CFA + uint64(off)) & k.Arch.AddrMask() }
	if ra := k.Attempt.Rule.RA; ra.Kind == rule.AtCFA {
		k.RASlot = slot(ra.Off)
	}
	for _, r := range k.Attempt.Rule.Regs[:k.Attempt.Rule.N] {
		if r.Kind == rule.AtCFA && int(r.Reg) < len(k.Arch.Regs) {
			k.Saved = append(k.Saved, Saved{k.Arch.Regs[r.Reg].Names[0], slot(r.Off)})
		}
	}
}
