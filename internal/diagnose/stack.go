package diagnose

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// guardReach is how far below its lowest byte a stack is overrun by one access: the size of the
// kernel's guard gap, 1 MiB (Documentation: stack_guard_gap, 256 pages). A function with a larger
// frame touches every page of the frame in turn (-fstack-clash-protection).
const guardReach = 1 << 20

// maxFrame bounds a frame that reaches down from the stack: a larger one is a stack pointer that went wrong.
const maxFrame = 1 << 30

// deep is how many frames of a function are a recursion to speak of.
const deep = 50

// stackOverflow says in a sentence that an access at addr, just below the thread's stack, ran out
// of the stack; "" where it did not. SP must lie near by too, for a wild pointer may lead there by
// chance.
func stackOverflow(addr uint64, snap *target.Snapshot, th *report.Thread) string {
	sp, ok := th.Regs.Lookup(snap.Arch.SP)
	sp &= snap.Arch.AddrMask()
	if !ok || max(addr, sp)-min(addr, sp) > guardReach {
		return ""
	}
	stack := above(snap.Memory, addr)
	edge, in := edgeFrame(snap.Memory, th)
	name, often := mostOften(th)
	switch _, there := snap.Memory.PermAt(addr); {
	case max(addr, sp) < in.Lo && in.Lo-addr < maxFrame:
		stack = in
	case stack == (target.Range{}) && !there && often >= deep: // the capture has no stack: a list of calls
		return "the stack overflowed, in a recursion of " + name
	case stack == (target.Range{}):
		return ""
	case stack.Lo-addr > guardReach || sp >= stack.Hi || passed(snap.Memory, sp, addr, stack, in):
		return ""
	}
	use := size(stack.Hi - stack.Lo)
	if th.Stop.Reason == unwind.StopUnreadable && th.Stop.Addr >= stack.Hi { // the capture has only the lower part of the stack
		use = "more than " + use
	}
	s := fmt.Sprintf("the stack overflowed: %s are in use down to %#x", use, stack.Lo)
	if below := stack.Lo - addr; below > guardReach {
		s += fmt.Sprintf("; frame #%d reaches %s further", edge, size(below))
	}
	if often >= deep {
		s += fmt.Sprintf("; %s is on the stack %d times", name, often)
	}
	return s
}

// edgeFrame is the innermost frame that ends in memory, and that memory, empty where no frame does.
//
//	#2  f1    CFA in the stack
//	#1  f2    CFA in the stack                                  char b[9 << 20]; use(b);
//	#0  big   CFA in the stack, SP 9 MB further down, where nothing is mapped
func edgeFrame(m *target.Memory, th *report.Thread) (edge int, in target.Range) {
	for i := range th.Frames {
		f := &th.Frames[i]
		if !f.HasCFA || i+1 < len(th.Frames) && th.Frames[i+1].Trust == unwind.Guess {
			break
		}
		if in = m.RangeAt(f.CFA - 1); in.Contains(f.CFA - 1) {
			return i, in
		}
	}
	return 0, target.Range{}
}

// above is the memory that begins next above addr, where that may be a stack; empty where addr is in memory. Where nobody can
// write is no stack: Linux maps [vvar] right above a program's.
func above(m *target.Memory, addr uint64) target.Range {
	if _, ok := m.PermAt(addr); ok {
		return target.Range{}
	}
	for _, s := range m.Segments() {
		if s.Addr <= addr {
			continue
		}
		if s.Perm != target.PermUnknown && s.Perm&target.PermWrite == 0 {
			break
		}
		return m.RangeAt(s.Addr)
	}
	return target.Range{}
}

// passed tells whether an access at addr lies beyond the other end of the stack, the one that SP is in: a loop ran out of an
// array of main, or a pointer was wrong. Frames that begin in the memory above, in, tell of a function with so large a
// frame that SP reached another thread's stack.
//
//	[stack of thread 2]   ◄─ above addr, and not the stack that SP is in
//	addr
//	[stack of thread 1]   ◄─ SP
func passed(m *target.Memory, sp, addr uint64, above, in target.Range) bool {
	own := m.RangeAt(sp)
	return own.Contains(sp) && own.Hi <= addr && in != above
}

// mostOften is the function with the most frames.
func mostOften(th *report.Thread) (name string, n int) {
	count := make(map[string]int)
	add := func(f string, times int) {
		if count[f] += times; f != "" && count[f] > n {
			name, n = f, count[f]
		}
	}
	for i := range th.Frames {
		add(th.Frames[i].Function, 1)
	}
	for _, r := range th.Repeats {
		for i := r.At - r.Period; i < r.At; i++ {
			add(th.Frames[i].Function, r.Turns)
		}
	}
	return name, n
}

func size(n uint64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Damaged is the number of the frame whose return address may have been overwritten: the innermost
// frame whose caller was only guessed, or not found at all.
func Damaged(frames []unwind.Frame, stop unwind.Stop) (frame int, ok bool) {
	last := len(frames) - 1
	for i := 1; i <= last; i++ {
		if frames[i-1].Trust == unwind.Guess {
			return 0, false // what lies behind a wrong frame is no return address
		}
		if frames[i].Method == unwind.MethodScan {
			return i - 1, true
		}
	}
	return last, last >= 0 && stop.Reason == unwind.StopNoRule && frames[last].Trust > unwind.Guess
}

// FindOverwritten looks for an overwritten return address of a frame. tried are the attempts to
// find the frame's caller. An attempt shows the overwritten address where it leads to no code and
// its rule is to be relied on: one of a table, or of code whose entry is known or that two
// derivations agree on. The result is nil where no attempt does.
func FindOverwritten(snap *target.Snapshot, t *target.Thread, frame unwind.Frame, number int, tried []report.Attempt) *report.Overwritten {
	snap = snap.Of(t)
	if number == 0 && frame.Checks&unwind.Executable == 0 && len(snap.Modules) > 0 {
		return returned(snap, t, frame.PC)
	}
	for i := range tried {
		a := &tried[i]
		sound := a.Method == unwind.MethodCFI || a.Method == unwind.MethodEHABI || a.Method == unwind.MethodCompact ||
			a.Method == unwind.MethodCode && a.Checks&(unwind.EntryKnown|unwind.MethodsAgree) != 0
		if !a.Applied || !sound || a.PC == 0 || a.Checks&unwind.Executable != 0 || isExcReturn(snap.Arch, a.PC) {
			continue
		}
		o := &report.Overwritten{Frame: number + 1, Value: a.PC}
		if a.RASlot != 0 {
			if v, ok := snap.Memory.Word(a.RASlot); ok {
				o.Slot, o.Value = a.RASlot, v
			}
		}
		o.Text = report.WordText(snap.Arch, o.Value)
		return o
	}
	return nil
}

// returned is the overwritten return address where a return led to a PC that is no code, nil where
// a call did. A return leaves its target in the place that it read it from: the link register, or
// the word below SP. A call leaves its own return address there.
func returned(snap *target.Snapshot, t *target.Thread, pc uint64) *report.Overwritten {
	arch := snap.Arch
	o := &report.Overwritten{Value: pc}
	lr, known := t.Regs.Lookup(arch.LR)
	switch lr &= arch.AddrMask(); {
	case pc == 0, pc < nullPage && mayBeCalled(snap, t):
		return nil // a NULL that was returned to is the end of a stack as well
	case !arch.CallPushesRA && known && samePlace(arch, lr, pc):
		o.Value = lr
	case arch.CallPushesRA || known && popsPC(arch) && !behindPointerCall(snap, lr):
		sp, ok := t.Regs.Lookup(arch.SP)
		if o.Slot = (sp - uint64(arch.AddrSize)) & arch.AddrMask(); !ok {
			return nil
		}
		if o.Value, ok = snap.Memory.Word(o.Slot); !ok || !samePlace(arch, o.Value, pc) {
			return nil
		}
	default:
		return nil
	}
	o.Text = report.WordText(arch, o.Value)
	return o
}

// mayBeCalled tells whether a call may have led to where the thread stands. Not so where a call pushes its return address, and the word at
// SP leads to memory that holds no code. Example: main's return address became 1, and the word above is a pointer to the stack.
func mayBeCalled(snap *target.Snapshot, t *target.Thread) bool {
	sp, known := t.Regs.Lookup(snap.Arch.SP)
	ra, ok := snap.Memory.Word(sp & snap.Arch.AddrMask())
	if !snap.Arch.CallPushesRA || !known || !ok {
		return true
	}
	_, in := snap.ModuleAt(ra)
	perm, held := snap.Memory.PermAt(ra)
	return in || !held || perm == target.PermUnknown || perm&target.PermExec != 0
}

// samePlace tells whether a word, jumped to, gives a PC: its lowest bit may have chosen an instruction set; AArch64 leaves
// out the highest byte, a tag (Arm ARM, D8.8, "Address tagging").
func samePlace(arch *cpu.Arch, word, pc uint64) bool {
	differs := word ^ pc
	if arch.Name == "aarch64" {
		differs &= 1<<56 - 1
	}
	if !arch.CallPushesRA {
		differs &^= 1
	}
	return differs == 0
}

// popsPC tells whether functions return by a load from the stack to the PC, as ARM's `pop {r4, pc}` does.
func popsPC(arch *cpu.Arch) bool { return arch.Name == "arm" }

// behindPointerCall tells whether the link register may hold the return address of a call through a pointer, which then led to the PC.
func behindPointerCall(snap *target.Snapshot, lr uint64) bool {
	ra, mode := snap.Arch.SplitCode(lr)
	site, kind := callsite.Before(snap, ra, mode)
	return kind == callsite.Missing || kind == callsite.Call && !site.Direct
}

// overwritten is the sentence about a lost return address.
func overwritten(o *report.Overwritten, addrSize int) string {
	s := fmt.Sprintf("the return address was overwritten: 0x%0*x", 2*addrSize, o.Value)
	if o.Text != "" {
		s += fmt.Sprintf(" (%q)", o.Text)
	}
	s += " is no code"
	if o.Slot != 0 {
		s += fmt.Sprintf(", at %#x on the stack", o.Slot)
	}
	return s
}
