package rtos

import (
	"context"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Context is the registers of a task whose kernel has saved them on the task's stack at sp, where the control block is not
// known: those by which the program can go on, as one port alone has laid them out. ok is false where there is none, or where
// ports differ.
func Context(ctx context.Context, snap *target.Snapshot, sp uint64) (regs cpu.Registers, ok bool) {
	ram, code := newRAM(ctx, snap), code{snap}
	best := 0
	all := layouts()
	for i := range all {
		l := &all[i]
		if !l.fits(snap.Arch) || l.embedded != (snap.Arch.ABI == embedded) || l.ends || len(l.before)+len(l.after) > 0 || l.returnAt != 0 {
			continue
		}
		c, read := l.compile(snap.Arch).read(snap.Memory, 0, sp)
		if !read || !code.resumes(ram, &c) {
			continue
		}
		weight := 1 // a status word that has sense, and a return address behind a call, speak for a layout
		if l.checked() || slices.Contains(l.saved, "mstatus") {
			weight += 2
		}
		if lr, has := c.regs.Lookup(snap.Arch.LR); has && code.follows(lr) {
			weight++
		}
		same := regs.Val[snap.Arch.PC] == c.regs.Val[snap.Arch.PC] && regs.Val[snap.Arch.SP] == c.regs.Val[snap.Arch.SP]
		switch {
		case weight > best:
			regs, ok, best = c.regs, true, weight
		case weight == best && !same:
			ok = false
		}
	}
	return regs, ok
}
