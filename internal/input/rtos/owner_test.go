package rtos

import (
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/target"
)

// block is FreeRTOS' control block as a configuration lays it out, in words.
type block struct {
	settings  int  // words between SP and the items: an MPU's, the affinity
	integrity bool // configUSE_LIST_DATA_INTEGRITY_CHECK_BYTES
	ticks     int  // words of a tick
	list      int  // words of a list
	several   bool // configNUMBER_OF_CORES
}

// lay writes the control block of a task, and returns where the name begins.
func (b block) lay(m *machine, at, sp, lo, priority, list, event uint64) (name uint64) {
	words := append([]uint64{sp}, make([]uint64, b.settings)...)
	check := slices.Repeat([]uint64{0x5a5a5a5a}, b.ticks)
	for i, container := range []uint64{list, event} {
		if b.integrity {
			words = append(words, check...)
		}
		value := make([]uint64, b.ticks)
		if i == 1 {
			value[0] = 8 - priority
		}
		words = append(append(words, value...), m.base, m.base, at, container)
		if b.integrity {
			words = append(words, check...)
		}
	}
	words = append(words, priority, lo)
	if b.several {
		words = append(words, map[bool]uint64{false: 1<<(8*m.word-1) - 1 + 1<<(8*m.word-1), true: 1}[priority == 3], 0)
	}
	m.put(at, words...)
	return at + uint64(len(words)*m.word)
}

// TestBlocks: control blocks of FreeRTOS in each configuration that moves their fields. a runs, b waits for an event and c for a
// time, d is suspended, e was deleted, f is the idle task; the name of one has one character.
func TestBlocks(t *testing.T) {
	cortexM, rv64 := archOf(arm.Archs(), "cortexm"), archOf(riscv.Archs(), "lp64d")
	plain := block{ticks: 1, list: 5}
	for _, c := range []struct {
		name, saved string
		arch        *cpu.Arch
		block
	}{
		{"as in 10.4", "r4-r11 frame", cortexM, plain},
		{"integrity", "r4-r11 frame", cortexM, block{ticks: 1, integrity: true, list: 8}},
		{"64-bit ticks", "r4-r11 frame", cortexM, block{settings: 1, ticks: 2, list: 6}},
		{"64-bit ticks, integrity", "r4-r11 frame", cortexM, block{settings: 1, ticks: 2, integrity: true, list: 12}},
		{"whole items as list ends", "r4-r11 frame", cortexM, block{ticks: 1, list: 7}},
		{"whole items, integrity", "r4-r11 frame", cortexM, block{ticks: 1, integrity: true, list: 11}},
		{"several processors", "exc r4-r11 frame", cortexM, block{settings: 1, ticks: 1, list: 5, several: true}},
		{"MPU before 10.6", "- r4-r11 exc floats frame", cortexM, block{settings: 16, ticks: 1, list: 5}},
		{"MPU, ARM_CM4_MPU", "- r4-r11 exc psp copy", cortexM, block{settings: 300, ticks: 1, list: 5}},
		{"MPU, ARM_CM33", "r4-r11 copy psp - - exc", cortexM, block{settings: 80, ticks: 1, list: 5}},
		{"RV64", "pc mstatus ra t0-t2 s0-s1 a0-a7 s2-s11 t3-t6 nesting", rv64, plain},
	} {
		m := newMachine(c.arch)
		w := uint64(m.word)
		timed, suspends, deleted, queue := m.base+0x700, m.base+0x740, m.base+0x780, m.base+0x7c0
		m.put(m.base+0x60, timed)
		ready := func(p uint64) uint64 { return m.base + 0x400 + p*uint64(c.list)*w }
		for i, name := range []string{"a1", "b1", "c1", "d1", "e", "f1"} {
			lo, at := m.base+0x800+uint64(i)*0x400, m.base+0x2800+uint64(i)*0x800
			m.fillStack(lo, lo+0x400, 0xa5a5a5a5)
			sp := m.saved(words(c.saved), lo+0x400, false)
			p := []uint64{3, 4, 2, 3, 1, 0}[i]
			list, event := []uint64{ready(3), suspends, timed, suspends, deleted, ready(0)}[i], uint64(0)
			if i == 1 {
				event = queue
			}
			m.text(c.lay(m, at, sp, lo, p, list, event), name)
			if slices.Contains(words(c.saved), "copy") { // the context lies in the block
				n := w * uint64(len(words(c.saved))+7)
				copy(m.ram[at+w-m.base:], m.ram[sp-m.base:][:n])
				m.put(at, at+w+n)
			}
		}
		snap := m.snapshot()
		snap.OS = AddTasks(t.Context(), snap)
		want := "FreeRTOS: a1 ready 3 stale, b1 waiting 4, c1 waiting 2, d1 suspended 3, e ended 1, f1 ready 0"
		if c.several {
			want = "FreeRTOS: a1 running 3 stale, b1 waiting 4, c1 waiting 2, d1 running 3 stale, e ended 1, f1 ready 0"
		}
		if got := states(snap); got != want {
			t.Errorf("%s: %s; want %s", c.name, got, want)
		}
		for i := range snap.Threads {
			if sp, ok := snap.Threads[i].Regs.Lookup(c.arch.SP); !ok || sp != m.base+0xc00+uint64(i)*0x400 {
				t.Errorf("%s: SP of %s is %#x", c.name, snap.Threads[i].Name, sp)
			}
		}
	}
}

// lower lays tasks of FreeRTOS, one above the other, of which each has a stack of 0x400 bytes.
func lower(t *testing.T, lay func(m *machine, i int, lo, at uint64) (sp uint64)) *target.Snapshot {
	t.Helper()
	m := newMachine(archOf(arm.Archs(), "cortexm"))
	for i, name := range []string{"a1", "b1", "c1", "f1"} {
		lo, at := m.base+0x1000+uint64(i)*0x400, m.base+0x4000+uint64(i)*0x100
		m.fillStack(lo, lo+0x400, 0xa5a5a5a5)
		p := []uint64{4, 4, 3, 0}[i]
		list := []uint64{m.base + 0x780, m.base + 0x780, m.list(3), m.list(0)}[i]
		sp := m.saved(words("r4-r11 frame"), lo+0x400, false)
		m.text((block{ticks: 1}).lay(m, at, sp, lo, p, list, map[bool]uint64{true: m.base + 0x7c0}[i < 2]), name)
		if over := lay(m, i, lo, at); over != 0 {
			m.put(at, over)
		}
	}
	m.put(m.base+0x60, m.base+0x3000) // a word that points anywhere
	return m.snapshot()
}

// overflown are the names of the tasks that overflowed.
func overflown(snap *target.Snapshot) string {
	var out []string
	for _, t := range snap.Threads {
		if t.Task != nil && t.Task.Overflown {
			out = append(out, t.Name)
		}
	}
	return strings.Join(out, ", ")
}

// TestOverflow: a task that blocks below its stack is found; of one whose recursion went through the stacks below, those are the
// victims, whether the processor's registers are known or not.
func TestOverflow(t *testing.T) {
	snap := lower(t, func(m *machine, i int, lo, _ uint64) uint64 {
		if i == 1 {
			return m.saved(words("r4-r11 frame"), lo-16, false)
		}
		return 0
	})
	AddTasks(t.Context(), snap)
	if got := overflown(snap); got != "b1" || len(snap.Threads) != 4 || snap.Threads[1].Regs.Known == 0 {
		t.Errorf("blocked below: %q overflowed, of %d tasks", got, len(snap.Threads))
	}
	if victim := &snap.Threads[0]; victim.Name != "a1" || !victim.Stale || victim.Task.Filled || snap.Threads[1].Stale {
		t.Errorf("the stack of %s, where b1 blocked: %+v", victim.Name, victim.Task)
	}
	for _, sp := range []uint64{0, 0x1fff_0000, 0x2000_1100} {
		snap = lower(t, func(m *machine, i int, lo, _ uint64) uint64 {
			if i < 3 { // c1 ran, and wrote over all that lies below
				m.fillStack(lo, lo+0x400, 0x1234_5679)
			}
			return 0
		})
		if sp != 0 {
			var regs cpu.Registers
			regs.Set(snap.Arch.SP, sp)
			snap.Threads = []target.Thread{{Name: "fault", Regs: regs, Crashed: true}}
		}
		AddTasks(t.Context(), snap)
		if got := overflown(snap); got != "c1" && got != "fault (task c1)" || len(snap.Issues) == 0 || !strings.Contains(snap.Issues[0].Text, `task "c1" overflowed into those of "b1", "a1"`) {
			t.Errorf("SP %#x: %q overflowed; %v", sp, got, snap.Issues)
		}
	}
}

// TestRunaway: the stack pointer of c1 lies on the stack of b1, which waits. Frames left holes, so that the end of c1's stack still has
// the pattern, and b1's context, which calls wrote through, looks like one. The report says who ran, or else what each does.
func TestRunaway(t *testing.T) {
	for _, c := range []struct {
		report, want string
		sp           uint64
	}{
		{"fault in c1", "c1", 0x2000_1410}, {"fault", "c1", 0x2000_1410}, {"fault in b1", "b1", 0x2000_1410}, {"fault in c1", "c1", 0x1fff_ff00},
		{"fault in c1", "c1", 0x2000_1a00}, {"fault in nobody", "c1", 0x2000_1410},
	} {
		snap := lower(t, func(*machine, int, uint64, uint64) uint64 { return 0 })
		var regs cpu.Registers
		regs.Set(snap.Arch.SP, c.sp)
		snap.Threads = []target.Thread{{Name: c.report, Regs: regs, Crashed: true}}
		AddTasks(t.Context(), snap)
		if got := snap.Threads[0].Name; got != c.report+" (task "+c.want+")" {
			t.Errorf("%s at %#x: %s", c.report, c.sp, got)
		}
		below := c.want == "c1" && c.sp < 0x2000_1800
		for i := range snap.Threads[1:] {
			th := &snap.Threads[i+1]
			victim := below && (th.Name == "b1" || th.Name == "a1" && c.sp < 0x2000_1400)
			if th.Stale != victim || th.Task.Overflown || victim == th.Task.Filled {
				t.Errorf("%s at %#x: %s is stale %t, %+v", c.report, c.sp, th.Name, th.Stale, th.Task)
			}
		}
		if overflowed := snap.Threads[0].Task.Overflown; overflowed != below {
			t.Errorf("%s at %#x: overflowed %t", c.report, c.sp, overflowed)
		}
	}
}

// TestSavedBelow: the port has saved c1's registers at the stack pointer of the report, on the stack of b1, of whose control block
// the recursion left no priority and no state: c1 ran.
func TestSavedBelow(t *testing.T) {
	var sp uint64
	snap := lower(t, func(m *machine, i int, lo, at uint64) uint64 {
		switch i {
		case 1:
			m.put(at+6*4, 0x1234_5679) // the value of the event's item
		case 2:
			sp = m.saved(words("r4-r11 frame"), lo-0x200, false) + 64
			return sp - 64
		}
		return 0
	})
	var regs cpu.Registers
	regs.Set(snap.Arch.SP, sp)
	snap.Threads = []target.Thread{{Name: "fault", Regs: regs, Crashed: true}}
	AddTasks(t.Context(), snap)
	if got := overflown(snap); got != "fault (task c1)" || len(snap.Threads) != 4 {
		t.Errorf("%q of %d threads", got, len(snap.Threads))
	}
}

// TestSavedInAnother: without a report, c1's saved stack pointer alone says that c1 came down into the stack of b1, whose end it wrote over.
func TestSavedInAnother(t *testing.T) {
	snap := lower(t, func(m *machine, i int, lo, _ uint64) uint64 {
		switch i {
		case 1:
			m.fillStack(lo, lo+16, 0x1234_5679)
		case 2: // frames left b1's context alone
			m.fillStack(lo-0x200, lo-0x100, 0x1234_5679)
			m.fillStack(lo, lo+0x400, 0x1234_5679)
			return lo - 0x200
		}
		return 0
	})
	AddTasks(t.Context(), snap)
	if got := overflown(snap); got != "c1" || snap.Threads[1].Task.Filled || snap.Threads[2].Regs.Known != 0 {
		t.Errorf("%q overflowed; %+v", got, snap.Threads[1].Task)
	}
}

// TestNamedOverflow: a report that has a task's name alone is of that task, with the registers that the kernel saved.
func TestNamedOverflow(t *testing.T) {
	snap := lower(t, func(*machine, int, uint64, uint64) uint64 { return 0 })
	snap.Threads = []target.Thread{{Name: "stack overflow in c1", Crashed: true}}
	AddTasks(t.Context(), snap)
	if got := overflown(snap); got != "stack overflow in c1 (task c1)" || snap.Threads[0].Regs.Known == 0 || len(snap.Threads) != 4 {
		t.Errorf("%q; %d threads", got, len(snap.Threads))
	}
}

// TestNoFrame: a task that went to the limit of its stack overflowed, and stands, as a guess, where the first call above is.
func TestNoFrame(t *testing.T) {
	snap := lower(t, func(m *machine, i int, lo, _ uint64) uint64 {
		if i == 2 {
			m.put(lo+0x20, m.code|1)
		}
		return 0
	})
	var regs cpu.Registers
	psp, _ := snap.Arch.RegByName("psp")
	regs.Set(psp, 0x2000_1800+8) // of c1
	snap.Threads = []target.Thread{{Name: "fault", Regs: regs, Crashed: true, Standing: target.Standing{Stale: true}}}
	AddTasks(t.Context(), snap)
	pc, ok := snap.Threads[0].Regs.Lookup(snap.Arch.PC)
	if !ok || pc != 0x0800_0101 || snap.Threads[0].Name != "fault (task c1)" {
		t.Errorf("PC %#x in %s", pc, snap.Threads[0].Name)
	}
}

// TestDeleted: a control block of a task that was deleted, which memory still has, is none.
func TestDeleted(t *testing.T) {
	snap := lower(t, func(m *machine, i int, _, at uint64) uint64 {
		if i == 2 {
			m.put(at+5*4, 0) // in no list
		}
		return 0
	})
	AddTasks(t.Context(), snap)
	if got := states(snap); strings.Contains(got, "c1") {
		t.Error(got)
	}
}
