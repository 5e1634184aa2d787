package rtos

import (
	"testing"

	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/target"
)

// chibios8 is ChibiOS since 8.0 with tasks a1 to f1, whose control blocks state both ends of the stack and link to each other. change
// changes a control block or what lies on the stack from lo on; sp is the context.
func chibios8(t *testing.T, change func(m *machine, name string, block, lo, sp uint64)) *target.Snapshot {
	t.Helper()
	m := newMachine(archOf(arm.Archs(), "cortexm"))
	const n, size, links = 6, 0x400, 9 * 4
	block := func(i uint64) uint64 { return m.base + 0x4000 + i*0x80 }
	for i := range uint64(n) {
		lo := m.base + 0x1000 + i*size
		m.fillStack(lo, lo+size, 0x55555555)
		sp := m.saved(words("r4-r11 pc"), lo+size-32, false)
		name := m.base + 0x100 + i*16
		m.text(name, string('a'+rune(i))+"1")
		state := [n]uint64{0, 5, 14, 10, 1, 0}[i] // e1 runs
		m.put(block(i), m.base+0x80, m.base+0x80, [n]uint64{2, 64, 65, 66, 60, 1}[i], sp, m.base+0x80, lo, lo+size, state, name,
			block((i+1)%n)+links, block((i+n-1)%n)+links)
		change(m, string('a'+rune(i))+"1", block(i), lo, sp)
	}
	snap := m.snapshot()
	snap.OS = AddTasks(t.Context(), snap)
	return snap
}

// TestChibiOSRunning: who runs is there by its links to the other tasks, though calls wrote over the saved context.
func TestChibiOSRunning(t *testing.T) {
	snap := chibios8(t, func(m *machine, name string, _, lo, _ uint64) {
		if name == "e1" {
			m.fillStack(lo, lo+0x400, 0x1234_5679)
		}
	})
	want := "ChibiOS: a1 ready 2, b1 waiting 64, c1 waiting 65, d1 waiting 66, e1 running 60 stale, f1 ready 1"
	if got := states(snap); got != want || snap.Threads[4].Regs.Known != 0 {
		t.Errorf("%s; want %s", got, want)
	}
}

// TestChibiOSOverwritten: a recursion wrote return addresses where d1's context was, words that are no code over that of c1, and a
// function's address into a place below the top of the stack: d1 may stand there, c1 has none, and nobody has just been made.
func TestChibiOSOverwritten(t *testing.T) {
	snap := chibios8(t, func(m *machine, name string, _, _, sp uint64) {
		switch name {
		case "c1":
			m.put(sp, m.code|1)       // r4: a function
			m.put(sp+8*4, m.code+1+2) // code, but in the middle of a call
		case "d1":
			m.put(sp+8*4, m.code+9)
		}
	})
	want := "ChibiOS: a1 ready 2, b1 waiting 64, c1 waiting 65, d1 waiting 66 stale, e1 running 60 stale, f1 ready 1"
	if got := states(snap); got != want || snap.Threads[2].Regs.Known != 0 {
		t.Errorf("%s; want %s", got, want)
	}
}

// TestChibiOSStale: an old copy of a control block, to which no other links, is no task, and a state that does not exist is none.
func TestChibiOSStale(t *testing.T) {
	snap := chibios8(t, func(m *machine, name string, block, _, _ uint64) {
		switch name {
		case "e1":
			copy(m.ram[block+0x1000-m.base:], m.ram[block-m.base:][:0x80])
			m.put(block+0x1000+3*4, m.base+0x2880, m.base+0x80, m.base+0x2800, m.base+0x2c00) // a stack that is free, without a context
		case "b1":
			m.put(block+7*4, 0x77)
		}
	})
	want := "ChibiOS: a1 ready 2, b1  64, c1 waiting 65, d1 waiting 66, e1 running 60 stale, f1 ready 1"
	if got := states(snap); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
