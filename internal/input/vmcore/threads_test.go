package vmcore

import (
	"fmt"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/tasks"
	"github.com/backsight/backsight/target"
)

// TestProcessors: whose registers a processor has, tell its stack pointer, the number that the task has where the
// processor was on its stack of interrupts, and what is left over; numbers count for nothing where the
// dump has the processors in another order. Which thread crashed, panic_cpu tells.
func TestProcessors(t *testing.T) {
	a := arm64.Archs()[0]
	stack := func(n uint64) target.Range { return target.Range{Lo: 0x1_0000 * n, Hi: 0x1_0000*n + 0x4000} }
	on := func(sps ...uint64) (cpus []cpu.Registers) {
		for _, sp := range sps {
			var r cpu.Registers
			r.Set(a.SP, sp)
			cpus = append(cpus, r)
		}
		return cpus
	}
	const interrupts = 0x99_0000 // a stack that is no task's
	for _, c := range []struct {
		name     string
		cpus     []cpu.Registers
		numbers  [3]int // the processors of tasks 1 to 3, -2: the task does not run, -1: its number is not known
		panicked int
		want     string
	}{
		{"by the stacks", on(0x2_0100, 0x1_0100), [3]int{-1, -1, -2}, 0, "1:0x10100 2:0x20100! 3:0x0"},
		{"by the number", on(0x1_0100, interrupts, interrupts+8), [3]int{0, 2, 1}, 2, "1:0x10100 2:0x990008! 3:0x990000"},
		{"what is left over", on(0x1_0100, interrupts), [3]int{-1, -1, -2}, -1, "1:0x10100! 2:0x990000 3:0x0"},
		{"two are left over", on(0x1_0100, interrupts, interrupts+8), [3]int{-1, -1, -1}, -1, "1:0x10100! 2:0x0 3:0x0 -2:0x990000 -3:0x990008"},
		{"another order", on(interrupts, interrupts+8, 0x1_0100), [3]int{0, 1, 2}, 1, "1:0x10100 2:0x0 3:0x0 -1:0x990000 -2:0x990008!"},
		{"a number that no processor has", on(0x1_0100, interrupts, interrupts+8), [3]int{0, 7, 1}, 9, "1:0x10100! 2:0x990008 3:0x990000"},
		{"another order, and who panicked", on(0x2_0100, 0x1_0100), [3]int{0, 1, -2}, 0, "1:0x10100! 2:0x20100 3:0x0"},
		{"no registers", nil, [3]int{0, 1, 2}, 1, "1:0x0 2:0x0 3:0x0"},
	} {
		var found []tasks.Task
		for i, n := range c.numbers {
			found = append(found, tasks.Task{PID: i + 1, CPU: max(n, -1), OnCPU: n != -2, Stack: stack(uint64(i + 1))})
		}
		got := ""
		for _, th := range threads(found, c.cpus, a, c.panicked) {
			got += fmt.Sprintf(" %d:%#x", th.ID, th.Regs.Val[a.SP])
			if th.Crashed {
				got += "!"
			}
		}
		if got[1:] != c.want {
			t.Errorf("%s:%s, want %s", c.name, got, c.want)
		}
	}
}

// TestStackGone: of a dead task without a stack, the words where that was may be another task's. Where no task's stack
// was found, nothing is known.
func TestStackGone(t *testing.T) {
	for stack, gone := range map[target.Range]bool{{Lo: 0, Hi: 0x4000}: true, {Lo: 0x1_0000, Hi: 0x1_4000}: false, {}: false} {
		th := threads([]tasks.Task{{PID: 1, Stack: stack, State: "zombie"}}, nil, arm64.Archs()[0], -1)[0]
		if th.Stale != gone || th.Stack.Contains(0x100) {
			t.Errorf("%v: stale %t, %v", stack, th.Stale, th.Stack)
		}
	}
}

// TestPanicked: the last report's processor is the one that panicked, whatever other lines begin alike.
func TestPanicked(t *testing.T) {
	const (
		panics = "[    9.2] Kernel panic - not syncing: sysrq triggered crash\n"
		older  = "[    1.0] CPU: 0 PID: 7 Comm: cat Tainted: G\n"
		newer  = "[    9.2] CPU: 1 UID: 0 PID: 151 Comm: busybox Not tainted\n"
		boot   = "[    0.0] CPU: PIPT / VIPT nonaliasing data cache\n[    0.1] CPU: 3 is online\n"
	)
	for log, want := range map[string]int{
		panics + newer + "[    9.3] CPU0: stopping\n" + older: 1, older + "[    9.1] CPU0: stopping\n" + panics + newer: 1,
		panics + newer: 1, older + panics: 0, older + newer + panics + boot: 1, newer: -1, panics + boot: -1, "": -1, panics + "CPU: ": -1,
	} {
		if got := panicked(nil, nil, log); got != want {
			t.Errorf("%q: %d, want %d", log, got, want)
		}
	}
}
