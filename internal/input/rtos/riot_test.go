package rtos

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
)

// layRIOT writes threads of RIOT, each with its control block at the end of the memory of its stack: a status, a priority and a number,
// links, the low end, the name and the size of both. The context of thread none is destroyed.
func layRIOT(m *machine, saved string, status []uint64, none int) {
	const size, block = 0x400, 13 * 4
	for i, s := range status {
		lo := m.base + 0x1000 + uint64(i)*size
		at := lo + size - block
		for w := lo; w < lo+size; w += 4 {
			m.put(w, w) // what RIOT fills stacks with
		}
		sp := m.saved(words(saved), at, false)
		if i == none {
			m.put(sp, 0x1234_5679, 0x1234_5679, 0x1234_5679, 0x1234_5679, 0x1234_5679, 0x1234_5679, 0x1234_5679, 0x1234_5679, 0x1234_5679)
		}
		name := m.base + 0x100 + uint64(i)*16
		m.text(name, []string{"main", "wait", "sleep", "zombie", "idle"}[i])
		m.put(at, sp, s|uint64(i+3)<<8|uint64(i+1)<<16, 0, 0, 0, 0, 0, 0, 0xffff_ffff, 0, lo, name, size)
	}
}

// TestRIOT: each thread is there by its name, the one that runs without a context too, with versions before and since there are
// condition variables.
func TestRIOT(t *testing.T) {
	for _, c := range []struct {
		name, saved string
		status      []uint64
	}{
		{"with condition variables", "r4-r11 exc frame", []uint64{11, 3, 2, 1, 12}},
		{"without", "r4-r11 exc frame", []uint64{10, 5, 2, 1, 11}},
		{"Cortex-M0", "r8-r11 r4-r7 exc frame", []uint64{11, 10, 2, 1, 12}},
	} {
		m := newMachine(archOf(arm.Archs(), "cortexm"))
		layRIOT(m, c.saved, c.status, 0)
		snap := m.snapshot()
		snap.OS = AddTasks(t.Context(), snap)
		if got, want := states(snap), "RIOT: main running 3 stale, wait waiting 4, sleep suspended 5, zombie ended 6, idle ready 7"; got != want {
			t.Errorf("%s: %s; want %s", c.name, got, want)
		}
		for i := range snap.Threads {
			if sp, ok := snap.Threads[i].Regs.Lookup(cpu.Reg(13)); i > 0 && (!ok || sp != snap.Threads[i].Stack.Hi) {
				t.Errorf("%s: SP of %s is %#x", c.name, snap.Threads[i].Name, sp)
			}
		}
	}
}
