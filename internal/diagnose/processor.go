package diagnose

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cortexm"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// circumstances adds whether the stack was exhausted, and which exception's handler ran.
func circumstances(c *report.Crash, snap *target.Snapshot, th *report.Thread) {
	if s := belowStack(snap.Arch, th); s != "" {
		c.Kind = report.CrashStackOverflow
		c.Reasons = append(c.Reasons, s)
	}
	if s := inHandler(snap, th); s != "" {
		c.Reasons = append(c.Reasons, s)
	}
}

// processor explains a fault that a processor's own status registers describe: it adds the
// circumstances, and what the instruction did, where registers are not older than that.
func processor(c *report.Crash, snap *target.Snapshot, th *report.Thread) {
	circumstances(c, snap, th)
	if len(th.Frames) == 0 || th.Stale {
		return
	}
	f := &th.Frames[0]
	if f.Checks&(unwind.Executable|unwind.CodeMissing) == 0 && (f.Module == nil || f.Module.Image != nil) {
		if len(snap.Modules) > 0 {
			address, has := c.Address, c.HasAddress
			noCode(c, snap, f.PC)
			c.Address, c.HasAddress = address, has
		}
		return
	}
	a, ok := innermost(snap, f, &th.Regs)
	if !ok || c.HasAddress && c.Address-a.addr >= maxAccess {
		return
	}
	c.Access = a.how
	c.Reasons = append(c.Reasons, accessed(snap, th, &a))
}

// accessed says what the instruction at the innermost frame's PC did with memory, through which
// register, and where the register's value came from:
//
//	ldr r3, [r3] in leaf_read reads from 0xa0000000; r3 came from the word at 0x20000004
func accessed(snap *target.Snapshot, th *report.Thread, a *access) string {
	f := &th.Frames[0]
	s := instructionText(snap, f)
	if s == "" {
		s = "the instruction"
	}
	if f.Function != "" {
		s += " in " + f.Function
	} else {
		s += fmt.Sprintf(" at %#x", f.PC)
	}
	s += fmt.Sprintf(" %s %#x", map[string]string{"read": "reads from", "write": "writes to"}[a.how], a.addr)
	if a.base == cpu.NoReg || a.base == snap.Arch.PC {
		return s
	}
	if from := originOf(snap, f, &th.Regs, a.base); from != "" {
		return s + "; " + from
	}
	return s + ", by " + snap.Arch.RegName(a.base)
}

// belowStack says that SP has left the thread's stack at the low end; "" where SP is in bounds, or
// the bounds of the stack are not known.
func belowStack(arch *cpu.Arch, th *report.Thread) string {
	sp, ok := th.Regs.Lookup(arch.SP)
	if sp &= arch.AddrMask(); !ok || th.Stack.Lo == th.Stack.Hi || sp >= th.Stack.Lo || th.Stack.Lo-sp > guardReach {
		return ""
	}
	return fmt.Sprintf("the stack overflowed: SP %#x is %d bytes below the %s of stack from %#x on", sp, th.Stack.Lo-sp,
		size(th.Stack.Hi-th.Stack.Lo), th.Stack.Lo)
}

// isExcReturn tells whether a return address is EXC_RETURN, the value with which a handler of a
// Cortex-M returns. A walk ends there where the capture lacks the interrupted code's stack pointer.
func isExcReturn(arch *cpu.Arch, pc uint64) bool {
	return arch.Micro() && pc>>32 == 0 && cortexm.ExcReturn(pc).Valid()
}

// inHandler says in which exception's handler a Cortex-M was, by name where the vector table
// has its function; "" in a task.
func inHandler(snap *target.Snapshot, th *report.Thread) string {
	arch := snap.Arch
	if !arch.Micro() {
		return ""
	}
	xpsr, ok := th.Regs.Lookup(arch.Status)
	n := cortexm.ExceptionNumber(xpsr)
	if !ok || n == 0 {
		return ""
	}
	s := "in the handler of " + cortexm.ExceptionName(n)
	if name := vectorName(snap, n); name != "" {
		s += ", " + name
	}
	return s
}

// vectorName is the function in the nth vector of the table with which a firmware's first
// segment begins: the initial SP, the entry of the reset, and so on.
func vectorName(snap *target.Snapshot, n int) string {
	for _, m := range snap.Modules {
		if m.Image == nil || len(m.Image.Segments) == 0 {
			continue
		}
		table := m.Image.Segments[0].Addr
		sp, _ := m.Image.Word(table)
		v, _ := m.Image.Word(table + uint64(4*n))
		reset, _ := m.Image.Word(table + 4)
		if sp%4 != 0 || m.Image.Segments.Executable(sp) || reset&1 == 0 || !m.Image.Segments.Executable(reset) || v&1 == 0 {
			continue
		}
		if sym, ok := m.Image.Symbols.At(v &^ 1); ok && sym.Addr == v&^1 {
			return sym.Name
		}
	}
	return ""
}
