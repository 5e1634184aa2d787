package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

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
	// Base: no exception entered the code (Caller.Base).
	Base bool
	// Cost is what the answers of the CallGraph and the search of the stack have cost for this
	// frame, in instructions that code analysis executed, or as much time. A source adds what
	// an answer costs, and asks no more when the state is Exhausted.
	Cost uint64
	// Limit is what Cost may come to.
	Limit uint64

	told
}

// told is what the frames further in, and their thread, say of a frame.
type told struct {
	hooked    int           // how many of Thread.Hooked, from the end on, the walk has used or passed
	arguments []passedValue // what the frame's function is known to have been passed
	shadow    shadow        // where the frame stands on the thread's shadow stack
	atLeast   bool          // SP is a lower bound: the frame was found by a search of the stack
	above     bool          // by a rule that needs SP, SP lies higher
	floor     uint64        // by a rule that needs SP, the return address lies here or higher
}

// IsAbove tells whether SP is known to lie higher than its register says, by how much nobody knows.
//
//	fail ─► ROM's vprintf ─► ROM's printf ─► app_main ─► main_task
//	                              └ saves its arguments above the return address to app_main, as RISC-V's functions of a
//	                                variable number of arguments do: behind that address SP is not yet app_main's
func (s *State) IsAbove() bool { return s.above }

// Floor is the lowest address at which the frame's return address can lie, where a rule says how far that is from SP, and SP is
// known to be no lower than its register says; 0 where nothing is known.
func (s *State) Floor() uint64 { return s.floor }

// shadow is where a frame stands on its thread's shadow stack, which holds return addresses and nothing else. What
// overwrites the stack does not reach there: an entry is a witness for the caller, and names the caller where the
// stack is lost.
//
//	the processor's    x86 SHSTK, AArch64 GCS: each call pushes     ▲ top ─► return address of this frame
//	                   RISC-V Zicfiss: sspush ra                      top+8  that of the caller
//	a register's       ShadowCallStack: str x30,[x18],#8              top-8  return address of this frame
//	                                    addi gp,gp,8; sd ra,-8(gp)  ▼ top
//
// Which register that is, and whether a function has pushed its return address, its code says: no register is taken
// for a shadow stack's pointer otherwise.
type shadow struct {
	shadowPlace
	asked, pushed bool
	ra            uint64      // what the frame has pushed, without mode bit or signature; where pushed
	rest          shadowPlace // the caller's place; where asked
}

// shadowPlace is a place on a shadow stack.
type shadowPlace struct {
	top      uint64  // 0: none is known
	by       cpu.Reg // that functions move; NoReg: calls push
	doubtful bool    // whether a frame further in has pushed is not known
}

// AtVector tells whether the frame is at the first instruction of an exception vector. Nobody called that code, so that no rule
// follows from it; the link register leads to a function that has not returned: the interrupted one, or its caller.
func (s *State) AtVector() bool { return s.Index == 0 && s.Thread != nil && s.Thread.AtVector }

// Exhausted tells whether the search for the frame has cost as much as it may.
func (s *State) Exhausted() bool { return s.Cost >= s.Limit }

// Code returns the bytes at target address pc: from the image that is mapped
// there, else from captured memory; nil where neither has any.
func (s *State) Code(pc uint64) []byte {
	m := s.Module
	if m == nil || !m.Contains(pc) {
		m, _ = s.Snapshot.ModuleAt(pc)
	}
	if m != nil && m.Image != nil {
		if b := m.Image.Segments.Code(m.ToImage(pc)); b != nil {
			return b
		}
	}
	return s.Snapshot.Memory.Bytes(pc)
}

// reported tells whether the capture is a report: it prints some words of the stack, and lists frames.
func (s *State) reported() bool { return s.Thread != nil && len(s.Thread.Listed) > 0 }

// statedStack is the thread's stack as the capture bounds it, empty where the capture states none.
func (s *State) statedStack() target.Range {
	if s.Thread == nil {
		return target.Range{}
	}
	return s.Thread.Stack
}

// followStack sets Stack to the memory around SP where SP has left the stack: for an alternate
// signal stack, a Cortex-M task's stack (PSP), a kernel's interrupt stack.
func (s *State) followStack() {
	arch := s.Snapshot.Arch
	if sp, ok := s.Regs.Lookup(arch.SP); ok && !s.Stack.Contains(sp) {
		s.Stack = s.Snapshot.Memory.RangeAt(sp & arch.AddrMask())
	}
}

// executable returns Executable, CodeMissing or neither for an address in m, the module
// there, if any.
func executable(snap *target.Snapshot, pc uint64, m *target.Module) unwind.Checks {
	if snap.Arch.NeverCode(pc) {
		return 0
	}
	if m != nil && m.Image != nil {
		img := m.ToImage(pc) & m.Image.Arch.AddrMask()
		if m.Image.Segments.Executable(img) {
			return unwind.Executable
		}
		if s, ok := m.Image.Segments.At(img); ok && s.Unknown() {
			return unwind.Executable | unwind.CodeMissing
		} else if ok {
			return 0
		}
	}
	if perm, ok := snap.Memory.PermAt(pc); ok && perm != target.PermUnknown {
		if perm&target.PermExec != 0 {
			return unwind.Executable
		}
		return 0
	}
	if m != nil && m.Image == nil {
		return unwind.Executable | unwind.CodeMissing
	}
	return 0
}
