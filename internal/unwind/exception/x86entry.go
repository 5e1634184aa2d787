package exception

import (
	"github.com/backsight/backsight/internal/stackwalk"
)

// Linux for x86 keeps the registers with which user space entered the kernel, struct pt_regs, at
// the very end of the task's stack (task_pt_regs in arch/x86/include/asm/processor.h). Entry code
// that calls C runs with SP at their beginning: no return address of its own can lie behind that.
//
//	SP ─► bx … ax … orig_ax        saved by the entry code
//	      ip cs flags sp ss        pushed by the processor
//	      padding                  TOP_OF_KERNEL_STACK_PADDING
//	end of the stack ─►
//
// In memory images the way out of the kernel does not tell these registers: entry_SYSCALL_64 copies what the
// processor shall pop to a small stack per processor, whose address only GS has. Kernels without ORC (frame
// pointers, all of i386) have no table that says where the stack ends.

// savedRegs is where struct pt_regs has what tells user space's registers, in words.
type savedRegs struct {
	words  int // of the structure
	cs, ss int // the selectors
	ax     int // the system call's result: 0 is written there once a thread's function has returned
}

// paddings are the words that the kernel leaves free behind the registers: 2 with FRED on x86-64
// (since Linux 6.9), 2 or, with virtual 8086 mode, 4 on i386 (asm/thread_info.h).
var paddings = [...]uint64{0, 2, 4}

// savedRegsOf is the layout of struct pt_regs (arch/x86/include/asm/ptrace.h).
func savedRegsOf(name string) (r savedRegs, ok bool) {
	switch name {
	case "x86_64":
		return savedRegs{words: 21, cs: 17, ss: 20, ax: 10}, true
	case "i386":
		return savedRegs{words: 17, cs: 13, ss: 16, ax: 6}, true
	}
	return r, false
}

// atSavedRegs tells whether SP is where the registers begin that the kernel was entered with.
func atSavedRegs(s *stackwalk.State) bool {
	if s.Snapshot.OS != "Linux" || s.Thread == nil {
		return false
	}
	layout, ok := savedRegsOf(s.Snapshot.Arch.Name)
	sp, known := s.Regs.Lookup(s.Snapshot.Arch.SP)
	if !ok || !known || !s.Thread.Stack.Contains(sp) {
		return false
	}
	word := uint64(s.Snapshot.Arch.RegSize)
	room := s.Thread.Stack.Hi - sp
	for _, padding := range paddings {
		if room == (uint64(layout.words)+padding)*word {
			return layout.ofUser(s, sp)
		}
	}
	return false
}

// ofUser tells whether the words from an address on are registers of user space, by the privilege
// level in the selectors (SDM volume 3, 3.4.2), or those of a kernel thread, all 0 (copy_thread).
func (r *savedRegs) ofUser(s *stackwalk.State, at uint64) bool {
	zero := true
	var selectors [2]uint64
	for i := range r.words {
		v, ok := s.Snapshot.Memory.Word(at + uint64(i*s.Snapshot.Arch.RegSize))
		switch {
		case !ok:
			return false
		case i == r.cs:
			selectors[0] = v
		case i == r.ss:
			selectors[1] = v
		}
		zero = zero && (v == 0 || i == r.ax)
	}
	const user, most = 3, 0xffff
	return zero || selectors[0]&selectors[1]&user == user && max(selectors[0], selectors[1]) <= most
}
