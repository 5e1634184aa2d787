package rtos

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/target"
)

// variable is an image's one symbol.
type variable struct {
	image.Container
	name string
	addr uint64
}

func (v variable) SymbolNamed(name string) (image.Symbol, bool) {
	return image.Symbol{Name: name, Addr: v.addr}, name == v.name
}

// kernelOf writes the control blocks of tasks a to d on stacks of 0x400 bytes. block returns
// the words of a block and which of them is the saved SP.
func kernelOf(m *machine, saved string, fill uint32, block func(i, lo, sp uint64) (words []uint64, at int)) (blocks []uint64) {
	for i := range uint64(4) {
		lo := m.base + 0x1000 + i*0x800
		m.fillStack(lo, lo+0x400, fill)
		sp := m.saved(words(saved), lo+0x400, false)
		at := m.base + 0x4000 + i*0x200
		w, k := block(i, lo, sp)
		m.put(at, w...)
		blocks = append(blocks, at+uint64(k*m.word))
	}
	return blocks
}

// list is FreeRTOS' list of ready tasks of a priority.
func (m *machine) list(priority uint64) uint64 { return m.base + 0x800 + priority*5*uint64(m.word) }

// blockFreeRTOS is a control block of FreeRTOS, in lists.
func (m *machine) blockFreeRTOS(i, lo, sp, priority, list, event uint64) ([]uint64, int) {
	at := m.base + 0x4000 + i*0x200
	m.text(at+13*uint64(m.word), string('a'+rune(i))+"1")
	return []uint64{sp, 5, m.base, m.base, at, list, 8 - priority, m.base, m.base, at, event, priority, lo}, 0
}

func states(snap *target.Snapshot) string {
	var out []string
	for _, t := range snap.Threads {
		s := fmt.Sprintf("%s %s %d", t.Name, t.Task.State, t.Task.Priority)
		if t.Stale {
			s += " stale"
		}
		out = append(out, s)
	}
	return snap.OS + ": " + strings.Join(out, ", ")
}

// TestStates: what control blocks tell of tasks, by the documented layouts; a runs, b waits,
// c is ready, d is the idle task.
func TestStates(t *testing.T) {
	cortexM, rv64 := archOf(arm.Archs(), "cortexm"), archOf(riscv.Archs(), "lp64d")
	for _, c := range []struct {
		name, saved string
		arch        *cpu.Arch
		block       func(m *machine) func(i, lo, sp uint64) ([]uint64, int)
		want        string
	}{
		{"FreeRTOS", "r4-r11 frame", cortexM, func(m *machine) func(i, lo, sp uint64) ([]uint64, int) {
			return func(i, lo, sp uint64) ([]uint64, int) {
				p := [4]uint64{3, 4, 2, 0}[i]
				if i == 1 {
					return m.blockFreeRTOS(i, lo, sp, p, m.base+0x900, m.base+0xa00)
				}
				return m.blockFreeRTOS(i, lo, sp, p, m.list(p), 0)
			}
		}, "FreeRTOS: a1 ready 3 stale, b1 waiting 4, c1 ready 2, d1 ready 0"},
		{"FreeRTOS, RV64, two of the first priority", "pc ra t0-t2 s0-s1 a0-a7 s2-s11 t3-t6 nesting mstatus", rv64, func(m *machine) func(i, lo, sp uint64) ([]uint64, int) {
			return func(i, lo, sp uint64) ([]uint64, int) {
				p := [4]uint64{3, 4, 3, 0}[i]
				if i == 1 {
					return m.blockFreeRTOS(i, lo, sp, p, m.base+0xc00, 0)
				}
				return m.blockFreeRTOS(i, lo, sp, p, m.list(p), 0)
			}
		}, "FreeRTOS: a1 ready 3 stale, b1 waiting 4, c1 ready 3 stale, d1 ready 0"},
		{"Mynewt", "r4-r11 frame", cortexM, mynewtBlocks, "Mynewt: a1 ready 20 stale, b1 waiting 10, c1 ready 30, d1 ready 255"},
		{"Mynewt, Cortex-M33 with floating point", "ftype r4-r11 floats frame", cortexM, mynewtBlocks,
			"Mynewt: a1 ready 20 stale, b1 waiting 10, c1 ready 30, d1 ready 255"},
		{"Mynewt, RISC-V", "pc s0-s11 ra - - t0-t6 a0-a7", archOf(riscv.Archs(), "ilp32"), mynewtBlocks,
			"Mynewt: a1 ready 20 stale, b1 waiting 10, c1 ready 30, d1 ready 255"},
		{"ThreadX", "exc floats r4-r11 frame", cortexM, func(m *machine) func(i, lo, sp uint64) ([]uint64, int) {
			return func(i, lo, sp uint64) ([]uint64, int) {
				name := m.base + 0x100 + i*16
				m.text(name, string('a'+rune(i))+"1")
				return []uint64{threadXID, 1, sp, lo, lo + 0x3ff, 0x400, 0, 0, 0, 0, name, [4]uint64{2, 1, 5, 31}[i], [4]uint64{0, 6, 0, 0}[i], 0}, 2
			}
		}, "ThreadX: a1 ready 2 stale, b1 waiting 1, c1 ready 5, d1 ready 31"},
		{"RTX5", "r4-r11 frame", cortexM, func(m *machine) func(i, lo, sp uint64) ([]uint64, int) {
			return func(i, lo, sp uint64) ([]uint64, int) {
				name := m.base + 0x100 + i*16
				m.text(name, string('a'+rune(i))+"1")
				state := rtxID | [4]uint64{2, 0x53, 1, 3}[i]<<8
				return []uint64{state, name, 0, 0, 0, 0, 0, 0, [4]uint64{24, 40, 8, 1}[i], 0, 0, 0, lo, 0x400, sp}, 14
			}
		}, "RTX5: a1 running 24 stale, b1 waiting 40, c1 ready 8, d1 suspended 1"},
		{"RT-Thread 4", "flag r4-r11 flagfloats frame", cortexM, rtThreadBlocks(rtThread31, 3, 2, 1, 1),
			"RT-Thread: a1 running 10 stale, b1 waiting 5, c1 ready 12, d1 ready 31"},
		{"RT-Thread 5", "flag r4-r11 flagfloats frame", cortexM, rtThreadBlocks(rtThread31, 3, 4, 2, 2),
			"RT-Thread: a1 running 10 stale, b1 waiting 5, c1 ready 12, d1 ready 31"},
		{"RT-Thread 5.0, several processors", "flag r4-r11 flagfloats frame", cortexM, rtThreadBlocks(rtThread50SMP, 3, 4, 3, 2),
			"RT-Thread: a1 running 10 stale, b1 waiting 5, c1 running 12 stale, d1 ready 31"},
		{"RT-Thread 5.1", "flag r4-r11 flagfloats frame", cortexM, rtThreadBlocks(rtThread51, 3, 4, 1, 2),
			"RT-Thread: a1 running 10 stale, b1 waiting 5, c1 ended 12, d1 ready 31"},
		{"RT-Thread 5.1, several processors", "flag r4-r11 flagfloats frame", cortexM, rtThreadBlocks(rtThread51SMP, 3, 4, 3, 2),
			"RT-Thread: a1 running 10 stale, b1 waiting 5, c1 running 12 stale, d1 ready 31"},
		{"Zephyr", "frame", cortexM, zephyrBlocks(4),
			"Zephyr: a1 ready 0 stale, b1 waiting -2, c1 ready 7, d1 ready 15"},
		{"Zephyr with timeouts", "frame", cortexM, zephyrBlocks(12),
			"Zephyr: a1 ready 0 stale, b1 waiting -2, c1 ready 7, d1 ready 15"},
	} {
		m := newMachine(c.arch)
		kernelOf(m, c.saved, 0xa5a5a5a5, c.block(m))
		snap := m.snapshot()
		snap.OS = AddTasks(t.Context(), snap)
		if got := states(snap); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}

// rtThreadBlocks are control blocks of RT-Thread with these states, in the words behind the error code.
func rtThreadBlocks(behind func(status, priority uint64) []uint64, status ...uint64) func(m *machine) func(i, lo, sp uint64) ([]uint64, int) {
	return func(m *machine) func(i, lo, sp uint64) ([]uint64, int) {
		return func(i, lo, sp uint64) ([]uint64, int) {
			p := [4]uint64{10, 5, 12, 31}[i]
			return append([]uint64{'a' + i | '1'<<8, 0, 0x84, 0, 0, 0, 0, sp, m.code, 0, lo, 0x400, 0}, behind(status[i], p)...), 7
		}
	}
}

// What follows in 3.1 to 5.0 and since 5.1, there behind the links of a list and before ticks; with several processors the one that
// runs the thread and the nesting of locks are in between.
func rtThread31(status, p uint64) []uint64 { return []uint64{status | p<<8 | p<<16, 1 << p} }
func rtThread50SMP(status, p uint64) []uint64 {
	return []uint64{status | 2<<8 | 1<<16, 0, p<<16 | p<<24, 1 << p}
}
func rtThread51(status, p uint64) []uint64 {
	return []uint64{0, 0, status, 10, 10, p | p<<8, 1 << p}
}
func rtThread51SMP(status, p uint64) []uint64 {
	return []uint64{0, 0, 0, status | 2<<16 | 1<<24, 0, 10, 10, p | p<<8, 1 << p}
}

// zephyrBlocks are control blocks of Zephyr whose base has so many words, before the callee's
// registers of an ARM, r4 to r11: the ready threads are in one list, the thread that waits in
// another.
func zephyrBlocks(base int) func(m *machine) func(i, lo, sp uint64) ([]uint64, int) {
	return func(m *machine) func(i, lo, sp uint64) ([]uint64, int) {
		return func(i, lo, sp uint64) ([]uint64, int) {
			block := func(i uint64) uint64 { return m.base + 0x4000 + i*0x200 }
			ready, waits := m.base+0x100, m.base+0x180
			m.put(ready, block(0), block(3))
			m.put(waits, block(1), block(1))
			next := [4]uint64{block(2), waits, block(3), ready}[i]
			previous := [4]uint64{ready, waits, block(0), block(2)}[i]
			state := [4]uint64{0x80, 0x02, 0x80, 0x80}[i]
			priority := uint64(byte([4]int8{0, -2, 7, 15}[i]))
			words := []uint64{next, previous, [4]uint64{0, waits, 0, 0}[i], state<<8 | priority<<16}
			for len(words) < base {
				words = append(words, 0)
			}
			for range 8 {
				words = append(words, 0x44)
			}
			at := len(words)
			words = append(words, sp, 0, lo, 0x400)
			m.text(block(i)+uint64(4*len(words)), string('a'+rune(i))+"1")
			return words, at
		}
	}
}

// mynewtBlocks are control blocks of Mynewt, whose size is in words: a1 has the first priority of those that are ready, b1 waits for
// a semaphore, d1 is the idle task.
func mynewtBlocks(m *machine) func(i, lo, sp uint64) ([]uint64, int) {
	return func(i, lo, sp uint64) ([]uint64, int) {
		name := m.base + 0x100 + i*16
		m.text(name, string('a'+rune(i))+"1")
		prio, state := [4]uint64{20, 10, 30, 255}[i], [4]uint64{1, 2 | 3<<8, 1, 1}[i]
		return []uint64{sp, lo, 0x400/4 | i<<16 | prio<<24, state, name, m.code, 0}, 0
	}
}

// TestChibiOS: control blocks that lie on top of their stacks, and state the low end only.
func TestChibiOS(t *testing.T) {
	m := newMachine(archOf(arm.Archs(), "cortexm"))
	for i := range uint64(4) {
		lo := m.base + 0x1000 + i*0x400
		block := lo + 0x300 // of the thread's structure
		m.fillStack(lo, block, 0x55555555)
		sp := m.saved(words("r4-r11 pc"), block, false)
		name := m.base + 0x100 + i*16
		m.text(name, string('a'+rune(i))+"1")
		m.put(block, m.base+0x80, m.base+0x80, [4]uint64{64, 128, 32, 1}[i], sp, m.base+0x90, m.base+0x90, name, lo, [4]uint64{1, 5, 0, 0}[i])
	}
	snap := m.snapshot()
	snap.OS = AddTasks(t.Context(), snap)
	if got, want := states(snap), "ChibiOS: a1 running 64 stale, b1 waiting 128, c1 ready 32, d1 ready 1"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	for i, th := range snap.Threads {
		if lo := m.base + 0x1000 + uint64(i)*0x400; th.Stack != (target.Range{Lo: lo, Hi: lo + 0x300}) || th.Task.Unused == 0 {
			t.Errorf("%s: %v, %+v", th.Name, th.Stack, th.Task)
		}
	}
}

// TestNuttX: the list of ready tasks, by its symbol, tells who runs, and where its control block is, though no context of that task was
// ever saved.
func TestNuttX(t *testing.T) {
	for _, saved := range []bool{true, false} {
		snap := readyNuttX(t, saved)
		if got, want := states(snap), "NuttX: a1 running 0 stale, b1 waiting 0, c1 ready 0, d1 ready 0"; got != want {
			t.Errorf("a context %t: %s; want %s", saved, got, want)
		}
		if known := snap.Threads[0].Regs.Known != 0; known != saved || snap.Threads[0].Stack.Lo != 0x2000_1000 {
			t.Errorf("a context %t: registers %t, stack %#x", saved, known, snap.Threads[0].Stack)
		}
	}
}

// readyNuttX is NuttX with four tasks, of which a1, c1 and d1 are ready.
func readyNuttX(t *testing.T, saved bool) *target.Snapshot {
	t.Helper()
	m := newMachine(archOf(arm.Archs(), "cortexm"))
	kernelOf(m, "- - r4-r11 exc frame", 0xdeadbeef, func(i, lo, sp uint64) ([]uint64, int) {
		next := [4]uint64{m.base + 0x4000 + 2*0x200, 0, m.base + 0x4000 + 3*0x200, 0}[i] // a, c, d are ready
		m.text(m.base+0x4000+i*0x200+64, string('a'+rune(i))+"1")
		if i == 0 && !saved {
			sp = 0
		}
		return []uint64{next, 0, 0, i, sp, 0, lo, 0x400}, 4
	})
	m.put(m.base+0x40, m.base+0x4000, m.base+0x4000+3*0x200)
	snap := m.snapshot()
	img := snap.Modules[0].Image
	snap.Modules[0] = target.NewModule("fw", image.New(img.Header, variable{name: "g_readytorun", addr: m.base + 0x40}), 0)
	snap.OS = AddTasks(t.Context(), snap)
	return snap
}

// TestCurrent: the kernel's own variable says which task runs, where the binary has its symbol;
// a processor that stands on a task's stack says so too, and then no registers are stale.
func TestCurrent(t *testing.T) {
	m := newMachine(archOf(arm.Archs(), "cortexm"))
	blocks := kernelOf(m, "r4-r11 frame", 0xa5a5a5a5, func(i, lo, sp uint64) ([]uint64, int) {
		return m.blockFreeRTOS(i, lo, sp, i, m.base+0x900, 0)
	})
	m.put(m.base+0x40, blocks[2])
	snap := m.snapshot()
	img := snap.Modules[0].Image
	snap.Modules[0] = target.NewModule("fw", image.New(img.Header, variable{name: "pxCurrentTCB", addr: m.base + 0x40}), 0)
	AddTasks(t.Context(), snap)
	if got, want := states(snap), ": a1  0, b1  1, c1 running 2 stale, d1  3"; got != want || len(snap.Issues) != 1 {
		t.Errorf("%s; want %s; %v", got, want, snap.Issues)
	}
	snap = m.snapshot()
	var regs cpu.Registers
	regs.Set(m.arch.SP, m.base+0x1000+0x800+0x100)
	snap.Threads = []target.Thread{{Name: "fault", Regs: regs, Crashed: true}}
	AddTasks(t.Context(), snap)
	if got, want := states(snap), ": fault (task b1) running 1, a1  0, c1  2, d1  3"; got != want || len(snap.Issues) != 0 {
		t.Errorf("%s; want %s; %v", got, want, snap.Issues)
	}
}

// TestFill: how much of a stack was never used, by each kernel's pattern, behind its guard
// word, and with the end overwritten.
func TestFill(t *testing.T) {
	for _, c := range []struct {
		pattern, first uint32
		want           target.Task
	}{
		{0xa5a5a5a5, 0xa5a5a5a5, target.Task{Filled: true, Unused: 0x80}},
		{0xaaaaaaaa, 0xf0f0f0f0, target.Task{Filled: true, Unused: 0x80}},
		{0xcccccccc, 0xe25a2ea5, target.Task{Filled: true, Unused: 0x80}},
		{0x23232323, 0x23232323, target.Task{Filled: true, Unused: 0x80}},
		{0xcdcdcdcd, 0x20001234, target.Task{Filled: true, Overflown: true}},
		{0x12345678, 0x12345678, target.Task{}},
	} {
		m := newMachine(archOf(arm.Archs(), "cortexm"))
		lo := m.base + 0x1000
		m.fillStack(lo, lo+0x80, c.pattern)
		m.fillStack(lo, lo+4, c.first)
		task := Task{Stack: target.Range{Lo: lo, Hi: lo + 0x200}, saved: lo + 0x100}
		newRAM(t.Context(), m.snapshot()).fill(&task)
		if task.Task != c.want {
			t.Errorf("%#x: %+v, want %+v", c.pattern, task.Task, c.want)
		}
	}
}

// TestPorts: of each port's layout all tasks are found with the SP that they go on with, and
// no other, in memory without symbols.
func TestPorts(t *testing.T) {
	all := append(append(cpu.Set(arm.Archs()), riscv.Archs()...), mips.Archs()...)
	ports := layouts()
	for i := range ports {
		l := &ports[i]
		var arch *cpu.Arch
		for _, a := range all {
			if l.fits(a) && arch == nil && !a.BigEndian && l.embedded == (a.ABI == embedded) {
				arch = a
			}
		}
		if l.owned {
			continue // TestFreeRTOS, TestBlocks
		}
		name := fmt.Sprintf("%s, %s: %s", l.kernel, l.cpus, strings.Join(l.saved, " "))
		m := newMachine(arch)
		tops := make(map[string]uint64)
		kernelOf(m, strings.Join(l.saved, " "), 0xcdcdcdcd, func(i, lo, sp uint64) (block []uint64, at int) {
			task := string('a'+rune(i)) + "1"
			tops[task] = lo + 0x400
			for len(block) < 6 { // of RTX5 the byte with EXC_RETURN lies there
				block = append(block, 0xfdfdfdfd)
			}
			for range l.before {
				block = append(block, 0x77)
			}
			at, block = len(block), append(block, sp)
			for _, r := range l.after {
				if r == "pc" {
					block = append(block, m.code)
				} else {
					block = append(block, 0x77)
				}
			}
			size := map[bool]uint64{false: 0x400, true: 0x400 / 4}[l.kernel == mynewt]
			block = append(block, lo, size)
			m.text(m.base+0x4000+i*0x200+uint64(len(block)*m.word), task)
			return block, at
		})
		k, ok := Find(t.Context(), m.snapshot())
		if !ok || len(k.Tasks) != 4 {
			t.Errorf("%s: %s", name, summary(k))
			continue
		}
		for _, task := range k.Tasks {
			if sp := task.Regs.Val[arch.SP]; sp != tops[task.Name] && len(l.saved) > 0 && !slices.Contains(l.saved, "sp") {
				t.Errorf("%s: SP of %s is %#x, want %#x", name, task.Name, sp, tops[task.Name])
			}
		}
	}
}
