// Package stackwalk walks a stack: for each frame it asks sources for a rule (or for
// the caller itself), applies it, checks what it yields, and goes on.
//
//	registers ─► module at PC ─► source: rule ─► evaluate ─► verify ─► caller's registers ─┐
//	    ▲                        (first that knows and convinces)                          │
//	    └───────────────────────────────────────────────────────────────────────────────────┘
//
// Where to find what, from the top down: walker.go has the frame loop; fastpath.go, cache.go and trail.go walk through
// known code; find.go asks the sources, crosscheck.go compares a table with the code, and lostcaller.go looks for a
// caller whose address was not captured; try.go applies a rule; verify.go and calltarget.go gather the evidence for a
// candidate.go, trust.go says what the evidence is worth; shared.go is what walkers leave for one another; state.go is the
// frame to be unwound. corroborate.go looks back over a finished walk, stacks.go over those of all threads.
//
// Sources live in packages of their own (internal/unwind/cfi, internal/unwind/code, …) and
// never import one another.
package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

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
	// Entry, with HasEntry, is the function's entry as the walker knows it from outside:
	// the target of the call that the caller's return address follows. A source
	// that reasons from entries then answers from this entry only.
	Entry    uint64
	HasEntry bool
	// Try counts the questions about one frame, from 0: a source with several answers
	// gives its best for 0, its next best for 1, and so on, then NotCovered.
	Try int
	// Brief: the walk has little to spend. A source that analyses code gives an answer that
	// takes much work up sooner than it would.
	Brief bool
	// Cost is the cost of a walk's questions so far. A source that analyses code adds the
	// instructions that it executed for an answer; an answer that was kept costs the same.
	Cost uint64
}

// RuleSource knows the rule at a PC from the image alone: pure, so that answers
// can be cached, tested without memory and compiled into tables. Implementations
// keep what they parsed in image.Memo and are safe for concurrent use.
type RuleSource interface {
	Method() unwind.Method
	// Rule fills out, which is empty, if the verdict is Found.
	Rule(q *Query, out *Rule) unwind.Verdict
}

// Explainer is implemented by rule sources that can say how they come to their answers.
type Explainer interface {
	// Notes say, for people and one line each, what led to the rules for a place and what
	// was tried in vain.
	Notes(q *Query) []string
}

// Caller is what a FrameSource finds.
type Caller struct {
	Regs cpu.Registers
	// CFA of the frame that was stepped out of, if known.
	CFA    uint64
	HasCFA bool
	// Sized: code tells how far the CFA is from SP, and no word of the stack was read for it.
	Sized bool
	// Exact: the caller's PC is an interrupted PC, not a return address.
	Exact bool
	// Switched: the caller runs on another stack, be that below or above.
	Switched bool
	// Base: the caller is code that no exception entered, as of an RTOS' thread. Neither
	// returns a frame further out from an exception.
	Base bool
	// NotAFrame: the place that was stepped out of is no frame of its own (an
	// EXC_RETURN value, an exception entry): the walker replaces it by the caller.
	NotAFrame bool
}

// FrameSource finds a caller by looking at the stack's contents. Its answers
// depend on memory and are never cached. It keeps no state of a walk.
type FrameSource interface {
	Method() unwind.Method
	// Step fills out, which is empty, with the caller of s if the verdict is Found.
	Step(s *State, out *Caller) unwind.Verdict
}

// Trampoline is implemented by frame sources whose frames are entered otherwise
// than by a call: signal trampolines, EXC_RETURN. A return address to a trampoline
// need not follow a call instruction.
type Trampoline interface {
	// At tells whether a frame that returns to target address pc, in this mode, returns
	// to a trampoline. s is the frame that returns.
	At(s *State, pc uint64, mode cpu.Mode) bool
}

// Unseen is a Trampoline that recognises its frames, too, where the code of the trampoline was not captured.
type Unseen interface {
	// Unseen tells whether such a frame lies at sp, where a word that leads to pc was found in the walk of s. pc is in no code
	// that is known; both are target addresses.
	Unseen(s *State, pc, sp uint64) bool
}

// CallGraph answers questions about control flow across images, in target addresses.
// internal/code/edges implements it.
type CallGraph interface {
	// Reaches tells whether code at pc can run as part of a call to entry without
	// another call in between: pc lies in the function that begins at entry, or in a
	// function that tail calls lead to from there (YesByJump), through PLT stubs and the
	// like. imageOnly: entry and pc lie in one image, whose code alone decided. cost is in
	// instructions executed, the same for an answer that was kept.
	Reaches(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (a Answer, imageOnly bool, cost uint64)
	// Stub tells where the code at entry jumps to, if it is a PLT stub: where the captured
	// GOT says, else to the function of the stub's name in the module at pc.
	Stub(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (to uint64, ok bool)
	// Callee resolves the target of the indirect call at site, where constants
	// and the image's data tell.
	Callee(snap *target.Snapshot, site uint64, mode cpu.Mode) (entry uint64, entryMode cpu.Mode, ok bool)
	// OneFunction tells whether two places of m belong to one function.
	OneFunction(m *target.Module, a, b uint64, mode cpu.Mode) Answer
	// StartsFunction tells whether a function begins at pc in m, where the call at site
	// would return to, as far as symbols, calls and pointers tell.
	StartsFunction(m *target.Module, pc uint64, mode cpu.Mode, site cpu.CallSite) bool
	// EndsThread tells whether code at pc in m, where a call came back, goes straight to the
	// system call that ends the thread; or, behind no call, is what a thread's or a coroutine's function returns to.
	EndsThread(m *target.Module, pc uint64, mode cpu.Mode) bool
	// BehindSyscall tells whether the instruction before pc in m is a system call.
	BehindSyscall(m *target.Module, pc uint64, mode cpu.Mode) bool
	// LeavesException tells whether the code at pc in m leads to exception returns only (Yes), or
	// to a return to a caller (No). Entry code that jumps to a function may have the function return
	// there, where no call stands before (Linux for ARM: badr lr, ret_fast_syscall; ldr pc, [tbl, scno, lsl #2]).
	LeavesException(m *target.Module, pc uint64, mode cpu.Mode) Answer
	// MayCall tells whether the call through a register at site goes, on one of the ways to it, to a
	// function as part of whose call code at pc can run, as Reaches has it. No: on none of them. An import
	// through a word of the GOT is taken for the functions of its name.
	MayCall(snap *target.Snapshot, site uint64, mode cpu.Mode, pc uint64) Answer
	// StartHandsOn tells whether pc lies in the function whose address the program's start passes to
	// its callee: main. start is a place in the program's first function, both in m. passed is the
	// first word that the start passed on the stack, 0 if unknown.
	StartHandsOn(m *target.Module, start, passed, pc uint64, mode cpu.Mode) bool
	// Binds tells whether the dynamic linker was entered to bind the import of the PLT stub at entry.
	// The word that names the import was pushed by the PLT and lies below cfa, the CFA of the
	// linker's frame.
	Binds(snap *target.Snapshot, entry uint64, mode cpu.Mode, cfa uint64) bool
	// SoleCall tells whether no call of frame f's function but the one before f's PC can have led to the
	// callee: all others come back before they would, or go elsewhere.
	SoleCall(snap *target.Snapshot, callee, f *unwind.Frame) bool
	// MayJump tells whether the direct call before frame f's PC may have led to the callee by a jump through a
	// pointer: some function on its way ends in one, and a pointer to the callee's function is known.
	MayJump(snap *target.Snapshot, callee, f *unwind.Frame) bool
	// Shadows tells how far the function that has pc in m, at pc where exact, else at the call behind which pc stands, has moved
	// register r, the pointer to a shadow stack, to push its return address there: 0 where it has not, or no more.
	Shadows(m *target.Module, pc uint64, mode cpu.Mode, exact bool, r cpu.Reg) (moved int64, known bool)
	// KeepsReturnAt tells whether a function that a call leads to, in code of a mode, may have its return
	// address off bytes above its stack pointer, anywhere in its code. False is certain.
	KeepsReturnAt(snap *target.Snapshot, call cpu.CallSite, mode cpu.Mode, off int64) bool
	// Entered are the rules of a frame that the function which a call leads to has left in place, where it jumps to a
	// place that its code does not tell: what runs there has the function's caller above its own frame. Only SP is known there.
	Entered(snap *target.Snapshot, call cpu.CallSite) []Rule
	// LeafFrames are by how much the function that a call leads to, in code of a mode, has SP lowered where it runs, if it calls
	// nobody and keeps the return address in its register; 0 behind the last.
	LeafFrames(snap *target.Snapshot, call cpu.CallSite, mode cpu.Mode) [MaxLeafFrames]int64
	// CalledByPointer tells whether a call through a pointer may lead to the function that has
	// pc in m: No where neither data nor code holds the function's address, and no jump leaves
	// another function for this one.
	CalledByPointer(m *target.Module, pc uint64, mode cpu.Mode) Answer
	// MayLead tells whether the call through a pointer in m that returns to ra may have led to the function that has pc in
	// to: No where all tables hold that function at other offsets than the call reads at, or where the function reads or
	// writes memory through a register in which the call has no address of data.
	MayLead(m *target.Module, ra uint64, mode cpu.Mode, to *target.Module, pc uint64) Answer
	// Callers are the calls that lead to the function that has pc in m: those of m that go straight there, or, where snap is
	// given, all that may lead there.
	Callers(snap *target.Snapshot, m *target.Module, pc uint64, mode cpu.Mode) Calls
	// Arguments lists where the function that has pc in m holds what it was passed: at pc where exact, else
	// behind the call at pc.
	Arguments(m *target.Module, pc uint64, mode cpu.Mode, exact bool) []Argument
	// Passes tells what the call that returns to ra in m has in register r: a Number, or what a register held
	// when the calling function was entered plus a number; Anything where code does not tell.
	Passes(m *target.Module, ra uint64, mode cpu.Mode, r cpu.Reg) Operand
	// Abandons tells whether the code at the place of q, in the function that begins at q's entry, is
	// about to go on in a frame further out, whose registers may already lie where the caller's
	// were saved (__builtin_eh_return).
	Abandons(q *Query) bool
}

// Calls are the calls that lead to a function. Tables through which calls go are known as far as code shows who stores
// the table's address where: at the offset at which a table has the function, behind a pointer that calls read where
// code stores or copies that address. Some calls that are listed may not lead there.
type Calls struct {
	Returns []uint64 // where they return to, target addresses
	All     bool     // nothing else leads to the function, neither a pointer, nor a jump, nor another module
	// System is the number of the system call for which a kernel calls the function, or one that jumps there, −1 for
	// none: where the table of system calls has that one.
	System int
}

// Answer is what CallGraph.Reaches says.
type Answer uint8

// The answers. YesByJump is a Yes that holds for other entries, too: those of all functions
// that end in a jump to the function at pc.
const (
	Unknown Answer = iota
	Yes
	No
	YesByJump
	Anywhere
)

// Source is a RuleSource or a FrameSource. The method says what the source's answers are
// worth: a source that reads a compiler's tables has MethodCFI, whatever their format.
type Source interface{ Method() unwind.Method }

// queryOf asks for the rule of a frame, in image addresses. It reports false outside all
// images.
func queryOf(s *State) (Query, bool) {
	m := s.Module
	if m == nil || m.Image == nil {
		return Query{}, false
	}
	pc := m.ToImage(s.PC) & m.Image.Arch.AddrMask()
	q := Query{Image: m.Image, Arch: m.Image.Arch, PC: pc, Resume: pc, Mode: s.Mode, Exact: s.Exact}
	if !s.Exact {
		q.PC = pc - 1
	}
	return q, true
}

// queryOutside asks for the rule of a frame outside all files, in target addresses: the ABI's convention needs none.
// Code that was made at run time often keeps a frame pointer (V8, HotSpot). Where nothing else tells of a frame that was interrupted
// in it, because its bytes were not captured, or others make its frame, that is asked about as if it had made a call.
func queryOutside(s *State, m unwind.Method) (q Query, ok bool) {
	if !made(s.Module) || basisOf(m) != byConvention {
		return q, false
	}
	return Query{Arch: s.Snapshot.Arch, PC: s.Site, Resume: s.PC, Mode: s.Mode, Exact: s.Exact && s.Module == nil}, true
}

// outside tells whether nothing has the code at a module's place, which the program made.
func outside(m *target.Module) bool { return made(m) && (m == nil || m.Image == nil) }

// logged tells whether a module is a function that the program made, with the code that it had then.
func logged(m *target.Module) bool { return m != nil && m.Image != nil && m.Image.Made }

// made tells whether code at a module's place is no file's.
func made(m *target.Module) bool { return m == nil || m.Anonymous() }
