package rtos

import (
	"slices"

	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
)

// code is what a program's code says of the addresses on a stack.
type code struct{ snap *target.Snapshot }

// resumes tells whether a program can go on with a context: at a place in code, with a
// return address that is one or that the kernel put there for a task's function to end in.
func (c code) resumes(m *ram, ctx *registers) bool {
	arch := c.snap.Arch
	raw, ok := ctx.regs.Lookup(arch.PC)
	pc, _ := arch.SplitCode(raw)
	if !ok || !c.contains(pc) {
		return false
	}
	sp := ctx.regs.Val[arch.SP]
	if sp%m.word != 0 {
		return false
	}
	if _, ok := m.run(sp - 1); !ok {
		return false
	}
	lr, ok := ctx.regs.Lookup(arch.LR)
	if !ok {
		return c.follows(raw) // the switch is a call
	}
	if arch.Micro() {
		return true // the frame's xPSR has told
	}
	at, _ := arch.SplitCode(lr)
	return lr == 0 || c.contains(at) || slices.Contains(patterns, lr&0xffff_ffff) // a task that never ran has what its stack was filled with
}

// starts tells whether a context at the very top of a stack is that of a task of ChibiOS that never ran: the first address is not one
// behind a call, and the task's function stands in r4 (PORT_SETUP_CONTEXT of chcore.h).
func (c code) starts(ctx *registers) bool {
	arch := c.snap.Arch
	if _, ok := ctx.regs.Lookup(arch.LR); ok || !arch.Micro() {
		return false
	}
	pc, _ := arch.SplitCode(ctx.regs.Val[arch.PC])
	r4, _ := arch.RegByName("r4")
	function, _ := arch.SplitCode(ctx.regs.Val[r4])
	return c.contains(pc) && c.contains(function)
}

// contains tells whether an address is one of an instruction.
func (c code) contains(pc uint64) bool {
	if pc%c.snap.Arch.InsnAlign != 0 {
		return false
	}
	m, ok := c.snap.ModuleAt(pc)
	return ok && m.Image != nil && m.Image.Segments.Executable(m.ToImage(pc))
}

// follows tells whether a call stands before a return address.
func (c code) follows(raw uint64) bool {
	pc, mode := c.snap.Arch.SplitCode(raw)
	_, kind := callsite.Before(c.snap, pc, mode)
	return kind == callsite.Call
}
