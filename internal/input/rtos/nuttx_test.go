package rtos

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/riscv"
)

// layNuttX writes tasks of NuttX 12, a context of which are saved: links, number and priority, the functions, the state, bounds with
// the size in front, the saved SP, a name. What was saved of the first task is destroyed, or its saved SP is, where that is cleared.
func layNuttX(m *machine, saved string, status []uint64, cleared bool) {
	w := uint64(m.word)
	main := m.base + 0x0800_0000 // in no memory
	for i, state := range status {
		lo := m.base + 0x1000 + uint64(i)*0x400
		m.fillStack(lo, lo+0x400, 0xdeadbeef)
		sp := m.saved(words(saved), lo+0x400, false)
		if i == 0 {
			for k := range uint64(20) {
				m.put(sp+k*w, 0x1234_5679)
			}
			if cleared {
				sp = 0
			}
		}
		at := m.base + 0x4000 + uint64(i)*0x200
		head := []uint64{0, 0, m.base, uint64(i), uint64(100+i) | 100<<8}
		if w == 8 {
			head = []uint64{0, 0, m.base, uint64(i) | uint64(100+i)<<32 | 100<<40}
		}
		m.put(at, append(head, main|1, main+uint64(i)*16|1, state, 0, 0x400, lo-0x40, lo, 0, sp)...)
		m.text(at+uint64(len(head)+9)*w, string('a'+rune(i))+"1")
	}
}

// TestNuttXBlocks: control blocks tell who runs without symbols, though nothing that was saved of that task is left; where two run,
// states have the numbers of several processors.
func TestNuttXBlocks(t *testing.T) {
	for _, c := range []struct {
		name, saved string
		arch        *cpu.Arch
		status      []uint64
		want        string
	}{
		{"one processor", "- - r4-r11 - exc frame", archOf(arm.Archs(), "cortexm"), []uint64{3, 5, 2, 1, 4, 6},
			"NuttX: a1 running 100 stale, b1 waiting 101, c1 ready 102, d1 ready 103, e1 suspended 104, f1 waiting 105"},
		{"two", "pc ra sp - - t0-t2 s0-s1 a0-a7 s2-s11 t3-t6", archOf(riscv.Archs(), "lp64d"), []uint64{4, 4, 2, 3, 5, 6},
			"NuttX: a1 running 100 stale, b1 running 101 stale, c1 ready 102, d1 ready 103, e1 suspended 104, f1 waiting 105"},
	} {
		for _, cleared := range []bool{false, true} {
			m := newMachine(c.arch)
			layNuttX(m, c.saved, c.status, cleared)
			snap := m.snapshot()
			snap.OS = AddTasks(t.Context(), snap)
			if got := states(snap); got != c.want {
				t.Errorf("%s, cleared %t: %s; want %s", c.name, cleared, got, c.want)
			}
			for i := range snap.Threads {
				if known := snap.Threads[i].Regs.Known != 0; known != (i > 0) {
					t.Errorf("%s, cleared %t: registers of %s %t", c.name, cleared, snap.Threads[i].Name, known)
				}
			}
		}
	}
}
