// Package unwind walks a stack: for each frame it asks sources for a rule (or for
// the caller itself), applies it, checks what it yields, and goes on.
//
//	registers ─► module at PC ─► source: rule ─► Apply ─► verify ─► caller's registers ─┐
//	    ▲                        (first that knows and convinces)                      │
//	    └───────────────────────────────────────────────────────────────────────────────┘
//
// Sources live in packages of their own (internal/unwind/cfi, internal/unwind/code, …) and never import
// one another.
package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// Verdict is a source's answer.
type Verdict uint8

const (
	// Found: out is filled.
	Found Verdict = iota
	// NotCovered: the source knows nothing of this PC (or has no further answer).
	NotCovered
	// Malformed: the data that should tell is damaged.
	Malformed
	// Unsupported: the data uses something that this source does not do.
	Unsupported
	// EndOfStack: the source knows that this is the outermost frame.
	EndOfStack
	// NoCaller: the code here has left the stack that it was called on (longjmp
	// behind its switch of SP): where it goes on did not call it.
	NoCaller
	// NotCaptured: the memory that should tell is missing from the capture.
	NotCaptured
	verdictCount
)

var verdictNames = [verdictCount]string{"found", "not covered", "malformed", "unsupported", "end of stack", "no caller", "memory was not captured"}

func (v Verdict) String() string {
	if v < verdictCount {
		return verdictNames[v]
	}
	return "?"
}

// Query asks a RuleSource for the rule at a place in an image. All addresses are
// image addresses without mode bit.
type Query struct {
	Image *image.Image
	Arch  *cpu.Arch // the image's
	// PC is where to look: the PC itself in an exact frame, an address inside the
	// call instruction (or its delay slot) in a frame that resumes after a call.
	PC   uint64
	Mode cpu.Mode
	// Exact: the frame is about to execute the instruction at PC (topmost or
	// interrupted frame). Otherwise it resumes at Resume once the call returns;
	// Resume may lie outside the function when the call never returns.
	Exact  bool
	Resume uint64
	// Entry is the function's entry as the walker knows it from outside (HasEntry):
	// the target of the call that the caller's return address follows. A source
	// that reasons from entries then answers from that one only.
	Entry    uint64
	HasEntry bool
	// Try counts the questions at one place: a source with several answers gives
	// its next best for each, then NotCovered.
	Try int
}

// RuleSource knows the rule at a PC from the image alone: pure, so that answers
// can be cached, tested without memory and compiled into tables. Implementations
// keep what they parsed in image.Memo and are safe for concurrent use.
type RuleSource interface {
	Method() Method
	Rule(q *Query, out *Rule) Verdict
}

// State is a frame about to be unwound, in target addresses.
type State struct {
	Snapshot *target.Snapshot
	Thread   *target.Thread
	Regs     *cpu.Registers
	// PC and Mode as split by cpu.Arch.SplitCode; Exact as in Query.
	PC    uint64
	Mode  cpu.Mode
	Exact bool
	// Site is PC in an exact frame, else the call that the frame waits for: PC
	// may lie behind the end of the function when that call never returns.
	Site uint64
	// Module is where Site lies, nil outside all modules.
	Module *target.Module
	// Stack is the captured memory around SP.
	Stack target.Range
	// Index is the frame's number, 0 innermost.
	Index int
}

// Code returns the bytes at target address pc: from the image that is mapped
// there, else from captured memory; nil where neither has any.
func (s *State) Code(pc uint64) []byte {
	m := s.Module
	if m == nil || !m.Contains(pc) {
		m, _ = s.Snapshot.ModuleAt(pc)
	}
	if m != nil && m.Image != nil {
		if b := m.Image.Code(m.ToImage(pc)); b != nil {
			return b
		}
	}
	return s.Snapshot.Memory.Bytes(pc)
}

// Caller is what a FrameSource finds.
type Caller struct {
	Regs cpu.Registers
	// CFA of the frame that was stepped out of, if known.
	CFA    uint64
	HasCFA bool
	// Exact: the caller's PC is an interrupted PC, not a return address.
	Exact bool
	// NotAFrame: the place that was stepped out of is no frame of its own (an
	// EXC_RETURN value, an exception entry): the walker replaces it by the caller.
	NotAFrame bool
}

// FrameSource finds a caller by looking at the stack's contents. Its answers
// depend on memory and are never cached. It keeps no state of a walk.
type FrameSource interface {
	Method() Method
	Step(s *State, out *Caller) Verdict
}

// Trampoline is implemented by frame sources whose frames are entered otherwise
// than by a call: signal trampolines, EXC_RETURN. A return address that is a
// landmark need not follow a call instruction.
type Trampoline interface {
	At(s *State, pc uint64, mode cpu.Mode) bool
}

// CallGraph answers questions about control flow across images. unwind/code does.
type CallGraph interface {
	// Reaches tells whether code at pc can run as part of a call to entry without
	// another call in between: pc lies in the function that begins at entry or in
	// one that it tail-jumps to (YesByJump), through PLT stubs and the like. alone: the
	// code of the image that has both decided. Target addresses.
	Reaches(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (a Answer, alone bool)
	// Stub tells where the stub at entry jumps to, if it is one: what the captured
	// GOT says, else the function of that name in the module at pc.
	Stub(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (to uint64, ok bool)
	// Callee resolves the target of the indirect call at site, where constants
	// and the image's data tell. Target addresses.
	Callee(snap *target.Snapshot, site uint64, mode cpu.Mode) (entry uint64, entryMode cpu.Mode, ok bool)
	// BehindSyscall tells whether the instruction before pc in m is a system call.
	BehindSyscall(m *target.Module, pc uint64, mode cpu.Mode) bool
}

// Answer is a three-valued truth.
type Answer uint8

// The answers. YesByJump is a Yes of CallGraph.Reaches that holds for other entries, too.
const (
	Unknown Answer = iota
	Yes
	No
	YesByJump
)
