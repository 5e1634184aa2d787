package rtos

import (
	"context"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/target"
)

// zephyrArray writes threads of Zephyr one behind the other, as programs define them: 12 words of base, r4 to r11, SP, the bounds of
// the stack, the name. The context of thread none is destroyed.
func zephyrArray(m *machine, states []uint64, timed []bool, none int) *target.Snapshot {
	const size = 0x80 // of a control block
	block := func(i int) uint64 { return m.base + 0x4000 + uint64(i)*size }
	timeouts, semaphore := m.base+0x140, m.base+0x180
	m.put(timeouts, timeouts, timeouts)
	for i, state := range states {
		lo := m.base + 0x800 + uint64(i)*0x400
		m.fillStack(lo, lo+0x400, 0xaaaaaaaa)
		sp := m.saved(words("frame"), lo+0x400, false)
		if i == none {
			m.put(sp+24, 0xaaaaaaaa, 0xaaaaaaaa)
		}
		list, pended := m.base+0x100, uint64(0) // each in a list of its own
		if state&zephyrPending != 0 {
			list, pended = semaphore, semaphore
		}
		m.put(block(i), list+uint64(i)*8, list+uint64(i)*8, pended, state<<8|uint64(i)<<16)
		m.put(list+uint64(i)*8, block(i), block(i))
		if timed[i] {
			m.put(block(i)+24, timeouts, timeouts)
			m.put(timeouts, block(i)+24, block(i)+24)
		}
		m.put(block(i)+20*4, sp, 0, lo, 0x400)
		m.text(block(i)+24*4, []string{"crash", "wait", "susp", "sleep", "dead", "busy", "idle"}[i])
	}
	snap := m.snapshot()
	snap.OS = AddTasks(context.Background(), snap)
	return snap
}

// TestZephyrArray: each thread has its own name, not that of its neighbour, and the one that runs is there without a context. Asleep is
// told from suspended by the timeout; the idle thread of one processor is in no list.
func TestZephyrArray(t *testing.T) {
	const want = "Zephyr: crash running 0 stale, wait waiting 1, susp suspended 2, sleep waiting 3, dead ended 4, busy ready 5, idle ready 6"
	for _, c := range []struct {
		name  string
		first uint64 // the state of the thread that runs
		none  int
	}{{"one processor, no context left", zephyrQueued, 0}, {"several, an old context", 0, -1}} {
		m := newMachine(archOf(arm.Archs(), "cortexm"))
		snap := zephyrArray(m, []uint64{c.first, zephyrPending, zephyrSuspended, zephyrSuspended, zephyrDead, zephyrQueued, 0}, []bool{3: true, 6: false}, c.none)
		if got := states(snap); got != want {
			t.Errorf("%s: %s; want %s", c.name, got, want)
		}
	}
}

// TestStacked: a report without SP gets that of the place on a task's stack that holds the report's registers; the handler's copy
// elsewhere counts as little as two places.
func TestStacked(t *testing.T) {
	cortexM, rv32 := archOf(arm.Archs(), "cortexm"), archOf(riscv.Archs(), "ilp32")
	lo := uint64(0x2000_0800)
	for _, c := range []struct {
		name string
		arch *cpu.Arch
		put  []uint64
		at   []uint64
		want uint64
	}{
		{"Cortex-M", cortexM, []uint64{1, 2, 3, 4, 12, 0x101, 0x201, 1 << 24}, []uint64{lo + 0x40, 0x2000_4000}, lo + 0x60},
		{"twice", cortexM, []uint64{1, 2, 3, 4, 12, 0x101, 0x201, 1 << 24}, []uint64{lo + 0x40, lo + 0x80}, 0},
		{"RISC-V, since 3.2", rv32, []uint64{1, 5, 6, 7, 28, 29, 30, 31, 10, 11, 12, 13, 14, 15, 16, 17, 0x200, 0x1880, 8}, []uint64{lo + 0x40, 0x2000_4000}, lo + 0x90},
		{"RISC-V, 3.0", rv32, []uint64{1, 4, 5, 6, 7, 28, 29, 30, 31, 10, 11, 12, 13, 14, 15, 16, 17, 0x200, 0x1880, 8}, []uint64{lo + 0x40}, lo + 0x90},
	} {
		m := newMachine(c.arch)
		for _, at := range c.at {
			m.put(at, c.put...)
		}
		k := &Kernel{search: newSearch(t.Context(), m.snapshot()), Tasks: []Task{{Stack: target.Range{Lo: lo, Hi: lo + 0x400}}}}
		var regs cpu.Registers
		for i, name := range registerNames(c.arch, len(c.put)) {
			if r, ok := c.arch.RegByName(name); ok {
				regs.Set(r, c.put[i])
			}
		}
		if sp, _ := k.stacked(&regs); sp != c.want {
			t.Errorf("%s: SP %#x, want %#x", c.name, sp, c.want)
		}
	}
}

// registerNames are the registers of a saved context of so many words.
func registerNames(arch *cpu.Arch, n int) []string {
	switch {
	case arch.Micro():
		return words("r0-r3 r12 lr pc xpsr")
	case n == 19:
		return words("ra t0-t6 a0-a7 pc")
	}
	return words("ra tp t0-t6 a0-a7 pc")
}

// TestDistance: names are looked for no farther than the nearest two control blocks lie apart.
func TestDistance(t *testing.T) {
	if got := distance([]Task{{Block: 0x300}, {Block: 0x100}, {Block: 0x180}}); got != 0x80 {
		t.Errorf("%#x", got)
	}
	if got := distance(nil); got != 1<<20 {
		t.Errorf("no blocks: %#x", got)
	}
}
