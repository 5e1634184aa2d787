package rtos

import (
	"testing"

	"github.com/backsight/backsight/internal/cpu/riscv"
)

// TestThreadXRISCV: of tasks that called the kernel the switch's registers are on the stack, of one that was preempted all, behind a word that
// tells. Priority and state have 32 bits on a processor of 64.
func TestThreadXRISCV(t *testing.T) {
	m := newMachine(archOf(riscv.Archs(), "lp64d"))
	l := layouts()
	for i := range l {
		if l[i].kernel != threadX || len(l[i].preempted) == 0 {
			continue
		}
		for n := range uint64(4) {
			lo, block := m.base+0x1000+n*0x400, m.base+0x4000+n*0x200
			m.fillStack(lo, lo+0x400, 0xefefefef)
			sp := m.saved(l[i].saved, lo+0x400, false)
			if n == 2 {
				sp = m.saved(l[i].preempted, lo+0x400-0x40, false)
				m.put(sp, 1)
			}
			name := m.base + 0x100 + n*16
			m.text(name, string('a'+rune(n))+"1")
			m.put(block, threadXID, 9, sp, lo, lo+0x3ff, 0x400, 0, 0, 0, 0, name, [4]uint64{2, 1 | 6<<32, 5, 31 | 3<<32}[n])
		}
	}
	snap := m.snapshot()
	snap.OS = AddTasks(t.Context(), snap)
	if got, want := states(snap), "ThreadX: a1 ready 2 stale, b1 waiting 1, c1 ready 5, d1 suspended 31"; got != want {
		t.Fatalf("%s; want %s", got, want)
	}
	for i, want := range []uint64{0x400, 0x800, 0xc00 - 0x40, 0x1000} {
		if sp := snap.Threads[i].Regs.Val[m.arch.SP]; sp != m.base+0x1000+want {
			t.Errorf("SP of %s is %#x", snap.Threads[i].Name, sp)
		}
	}
}
