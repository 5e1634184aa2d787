package diagnose

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// processor adds to what a processor's status registers say of a fault what the instruction
// did, and whether the stack was exhausted.
func processor(c *report.Crash, snap *target.Snapshot, th *report.Thread) {
	if s := belowStack(snap.Arch, th); s != "" {
		c.Kind = report.CrashStackOverflow
		c.Reasons = append(c.Reasons, s)
	}
	if len(th.Frames) == 0 {
		return
	}
	f := &th.Frames[0]
	if f.Checks&unwind.Executable == 0 {
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
	c.Reasons = append(c.Reasons, accessed(snap.Arch, &a, f.PC))
}

// accessed says what the instruction at pc did with memory, and by which register.
func accessed(arch *cpu.Arch, a *access, pc uint64) string {
	verb := map[string]string{"read": "reads from", "write": "writes to"}[a.how]
	s := fmt.Sprintf("the instruction at %#x %s %#x", pc, verb, a.addr)
	if a.base != cpu.NoReg && a.base != arch.PC {
		s += ", by " + arch.RegName(a.base)
	}
	return s
}

// belowStack says that SP has left the thread's stack at the low end; "" where that is not
// so, or the bounds of the stack are not known.
func belowStack(arch *cpu.Arch, th *report.Thread) string {
	sp, ok := th.Regs.Lookup(arch.SP)
	if sp &= arch.AddrMask(); !ok || th.Stack.Lo == th.Stack.Hi || sp >= th.Stack.Lo || th.Stack.Lo-sp > guardReach {
		return ""
	}
	return fmt.Sprintf("the stack overflowed: SP %#x is %d bytes below the %s of stack from %#x on", sp, th.Stack.Lo-sp,
		size(th.Stack.Hi-th.Stack.Lo), th.Stack.Lo)
}
