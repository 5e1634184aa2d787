package rtos

import (
	"fmt"

	"github.com/backsight/backsight/target"
)

// OtherProgram says in words that the binaries of snap may not be of the program that ran, ""
// where nothing speaks for that: of the return addresses in the registers of its threads that
// lie in code, most follow no call. A few are none: a task that never ran has the address of a
// function there. A microcontroller's report has no identification of the program, and users
// flash a new build before they save the old one.
func OtherProgram(snap *target.Snapshot) string {
	c, seen, behind := code{snap}, make(map[uint64]bool), 0
	for i := range snap.Threads {
		lr, ok := snap.Threads[i].Regs.Lookup(snap.Arch.LR)
		at, _ := snap.Arch.SplitCode(lr)
		if !ok || seen[lr] || !c.contains(at) || c.begins(at) {
			continue
		}
		seen[lr] = true
		if c.follows(lr) {
			behind++
		}
	}
	switch n := len(seen); {
	case n == 0 || 4*behind > n || n == 1 && len(snap.Threads) > 1:
		return "" // of several tasks, one that never ran has no return address
	case n == 1:
		return "the return address in a register follows no call in the binary: another build may have run"
	default:
		return fmt.Sprintf("%d of %d return addresses in registers follow no call in the binary: another build may have run", n-behind, n)
	}
}

// begins tells whether a function begins at an address, as far as symbols tell.
func (c code) begins(pc uint64) bool {
	m, ok := c.snap.ModuleAt(pc)
	if !ok || m.Image == nil {
		return false
	}
	sym, ok := m.Image.Symbols.At(m.ToImage(pc))
	return ok && sym.Addr == m.ToImage(pc)
}
