package rtos

import (
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cortexm"
	"github.com/backsight/backsight/target"
)

// stacked finds SP of a report that has none by what a task's stack holds of the report's registers: the exception frame of a
// Cortex-M, or what the entry of a trap saved. Another place may have the same words: the handler's copy.
func (k *Kernel) stacked(regs *cpu.Registers) (sp uint64, ok bool) {
	arch, found := k.search.code.snap.Arch, []uint64(nil)
	for _, t := range k.all() {
		if arch.Micro() {
			for _, at := range cortexm.Frames(arch, k.search.ram.mem, t.Stack, regs) {
				found = append(found, at+cortexm.ExcReturn(0xffff_fffd).FrameSize(regs.Val[arch.Status]))
			}
		} else if strings.HasPrefix(arch.Name, "riscv") {
			found = append(found, k.search.ram.traps(arch, t.Stack, regs)...)
		}
	}
	if len(found) != 1 {
		return 0, false
	}
	regs.Set(arch.SP, found[0])
	return found[0], true
}

// trapFrames are what Zephyr's entry of a trap saves, as far as reports print that: struct __esf of zephyr/arch/riscv/exp.h with s0 or a
// pointer behind mstatus, which is 20 words long in all versions; since 3.2, before, and before 3.0.
func trapFrames() []string {
	return []string{"ra t0-t6 a0-a7 pc", "ra tp t0-t6 a0-a7 pc", "ra gp tp t0-t6 a0-a7 pc"}
}

// traps are the stack pointers above a trap's saved registers in a range of memory, at most two.
func (m *ram) traps(arch *cpu.Arch, in target.Range, regs *cpu.Registers) (found []uint64) {
	const align, size = 16, 20
	for _, form := range trapFrames() {
		saved := items(arch, words(form))
		for at := (in.Lo + align - 1) &^ (align - 1); at+size*m.word <= in.Hi && len(found) < 2; at += align {
			if m.saves(saved, at, regs) {
				found = append(found, at+size*m.word)
			}
		}
	}
	return found
}

// saves tells whether the words from an address on are registers, of which most must be known.
func (m *ram) saves(saved []item, at uint64, regs *cpu.Registers) bool {
	same := 0
	for i, it := range saved {
		want, ok := regs.Lookup(it.reg)
		if v := m.at(at, i); ok && v != want {
			return false
		}
		if ok {
			same++
		}
	}
	return 2*same > len(saved)
}
