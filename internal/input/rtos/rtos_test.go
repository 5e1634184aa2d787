package rtos

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/target"
)

// machine is memory that a test writes a kernel into. Everything in flash is a call.
type machine struct {
	arch *cpu.Arch
	ram  []byte
	base uint64
	code uint64 // an address behind a call
	word int
}

func newMachine(arch *cpu.Arch) *machine {
	return &machine{arch: arch, ram: make([]byte, 0x8000), base: 0x2000_0000, code: 0x0800_0100, word: arch.RegSize}
}

// put writes words of the processor from an address on.
func (m *machine) put(at uint64, words ...uint64) {
	for i, w := range words {
		b := m.ram[at-m.base+uint64(i*m.word):]
		if m.word == 8 {
			binary.LittleEndian.PutUint64(b, w)
		} else {
			binary.LittleEndian.PutUint32(b, uint32(w))
		}
	}
}

// fillStack puts a kernel's pattern into a stack.
func (m *machine) fillStack(lo, hi uint64, pattern uint32) {
	for at := lo; at < hi; at += 4 {
		binary.LittleEndian.PutUint32(m.ram[at-m.base:], pattern)
	}
}

func (m *machine) text(at uint64, s string) { copy(m.ram[at-m.base:], s+"\x00") }

func (m *machine) snapshot() *target.Snapshot {
	call := []byte{0x00, 0xf0, 0x00, 0xf8} // bl .+4
	if m.arch.Name != "arm" {
		call = []byte{0xef, 0x00, 0x00, 0x01} // jal .+16
	}
	code := []byte(strings.Repeat(string(call), 0x400))
	img := image.New(image.Header{Path: "fw", Arch: m.arch, Segments: []image.Segment{
		{Addr: 0x0800_0000, Size: uint64(len(code)), Data: code, Read: true, Exec: true}}}, nil)
	var b target.Builder
	b.Add(m.base, m.ram, 0, target.PermUnknown)
	return &target.Snapshot{Arch: m.arch, Memory: b.Memory(m.arch), Modules: []*target.Module{target.NewModule("fw", img, 0)}}
}

func archOf(set []*cpu.Arch, abi string) *cpu.Arch {
	for _, a := range set {
		if a.ABI == abi {
			return a
		}
	}
	return nil
}

// saved writes a context as a layout has it, at the top of a stack, and returns the saved
// SP.
func (m *machine) saved(words []string, top uint64, extended bool) uint64 {
	var out []uint64
	put := func(v ...uint64) { out = append(out, v...) }
	for i, w := range words {
		switch w {
		case "frame", "copy":
			put(0, 1, 2, 3, 12, m.code|1, m.code+8, 0x0100_0000)
			if extended {
				put(make([]uint64, 18)...)
			}
		case "floats", "flagfloats":
			if extended {
				put(make([]uint64, 16)...)
			}
		case "exc":
			if extended {
				put(0xffff_ffed)
			} else {
				put(0xffff_fffd)
			}
		case "ftype":
			if extended {
				put(0)
			} else {
				put(0x10)
			}
		case "flag":
			if extended {
				put(1)
			} else {
				put(0)
			}
		case "pc", "ra", "lr":
			put(m.code)
		case "sp":
			put(top)
		case "mstatus":
			if extended { // FS and VS are dirty
				put(0x7e80)
			} else {
				put(0x1880)
			}
		case "cpsr":
			put(0x6000_001f)
		case "zero", "nesting", "context":
			put(0)
		case "psp":
			put(top - 32)
		case "fs4", "fs8", "vs16": // mstatus stands before: 33 registers; 4 words and 32 registers of 16 bytes
			if extended {
				put(make([]uint64, map[string]int{"fs4": 33 * 4, "fs8": 33 * 8, "vs16": 4*m.word + 32*16}[w]/m.word)...)
			}
		default:
			put(uint64(0x1000 + i))
		}
	}
	sp := top - uint64(len(out)*m.word)
	m.put(sp, out...)
	return sp
}

func summary(k Kernel) string {
	var out []string
	for _, t := range k.Tasks {
		out = append(out, fmt.Sprintf("%s [%x %x) unused %d", t.Name, t.Stack.Lo, t.Stack.Hi, t.Unused))
	}
	return k.Name + ": " + strings.Join(out, ", ")
}

// layFreeRTOS writes n tasks as tasks.c and heap_4.c lay them out: stack, then control block.
func layFreeRTOS(m *machine, layout []string, extended func(i int) bool) {
	w := uint64(m.word)
	at := m.base + 0x1000
	for i, name := range []string{"net", "log", "IDLE"} {
		const size = 0x600
		m.put(at, 0, 1<<(8*w-1)|size+2*w)
		lo := at + 2*w
		m.fillStack(lo, lo+size, 0xa5a5a5a5)
		sp := m.saved(layout, lo+size-16-uint64(32*i), extended(i))
		block := lo + size + 2*w
		m.put(block, sp, 5, m.base+0x100, m.base+0x200, block, m.base+0x100, 5, m.base+0x300, m.base+0x400, block, 0, uint64(i), lo)
		m.text(block+13*w, name)
		at = block + 0x80*w/4
	}
	m.put(m.base+0x20, m.base+0x1000) // words that point anywhere
	m.put(m.base+0x24, m.base+0x2468)
}

// TestFreeRTOS: all tasks of each port, with and without floating point, and none besides.
func TestFreeRTOS(t *testing.T) {
	never, some := func(int) bool { return false }, func(i int) bool { return i == 1 }
	cortexM, rv32, rv64 := archOf(arm.Archs(), "cortexm"), archOf(riscv.Archs(), "ilp32"), archOf(riscv.Archs(), "lp64d")
	for _, c := range []struct {
		name     string
		arch     *cpu.Arch
		layout   string
		extended func(int) bool
	}{
		{"CM3", cortexM, "r4-r11 frame", never},
		{"CM4F", cortexM, "r4-r11 exc floats frame", some},
		{"CM33", cortexM, "- exc r4-r11 floats frame", some},
		{"CM0", cortexM, "exc r4-r11 frame", never},
		{"RV32", rv32, "pc ra t0-t2 s0-s1 a0-a7 s2-s11 t3-t6 nesting mstatus", never},
		{"RV64", rv64, "pc ra t0-t2 s0-s1 a0-a7 s2-s11 t3-t6 nesting mstatus", never},
		{"RV64, 11.3", rv64, "pc mstatus ra t0-t2 s0-s1 a0-a7 s2-s11 t3-t6 nesting", never},
		{"RV64, 11.3, floating point", rv64, "pc mstatus fs8 ra t0-t2 s0-s1 a0-a7 s2-s11 t3-t6 nesting", some},
		{"RV32, 11.3, floating point", rv32, "pc mstatus fs4 ra t0-t2 s0-s1 a0-a7 s2-s11 t3-t6 nesting", some},
		{"RV64, 11.3, vectors", rv64, "pc mstatus vs16 fs8 ra t0-t2 s0-s1 a0-a7 s2-s11 t3-t6 nesting", some},
		{"ESP-IDF", rv32, "pc ra sp - - t0-t2 s0-s1 a0-a7 s2-s11 t3-t6", never},
		{"RV32E", archOf(riscv.Archs(), "ilp32e"), "pc ra t0-t2 s0-s1 a0-a5 nesting mstatus", never},
		{"RV32E, 11.3", archOf(riscv.Archs(), "ilp32e"), "pc mstatus ra t0-t2 s0-s1 a0-a5 nesting", never},
	} {
		m := newMachine(c.arch)
		layFreeRTOS(m, words(c.layout), c.extended)
		k, ok := Find(t.Context(), m.snapshot())
		if !ok || k.Name != "FreeRTOS" || len(k.Tasks) != 3 {
			t.Errorf("%s: %s", c.name, summary(k))
			continue
		}
		for i, task := range k.Tasks {
			if task.Name != []string{"net", "log", "IDLE"}[i] || task.Stack.Hi-task.Stack.Lo != 0x600 || !task.Filled || task.Unused == 0 {
				t.Errorf("%s: %s", c.name, summary(k))
			}
			if sp, want := task.Regs.Val[c.arch.SP], task.Stack.Hi-16-uint64(32*i); sp != want {
				t.Errorf("%s: SP of %s is %#x, want %#x", c.name, task.Name, sp, want)
			}
		}
	}
}

// TestTrustZone: a task that was preempted in the secure world has its frame on the secure stack, which is not here; what lies on its own
// stack is older, however much that looks like a context.
func TestTrustZone(t *testing.T) {
	m := newMachine(archOf(arm.Archs(), "cortexm"))
	layFreeRTOS(m, words("context - exc r4-r11 floats frame"), func(int) bool { return false })
	k, _ := Find(t.Context(), m.snapshot())
	if len(k.Tasks) != 3 || k.Tasks[1].Regs.Known == 0 {
		t.Fatal(summary(k))
	}
	m.put(k.Tasks[1].saved, 1, k.Tasks[1].Stack.Lo, 0xffff_fffd)
	if k, _ = Find(t.Context(), m.snapshot()); len(k.Tasks) != 3 || k.Tasks[1].Name != "log" || k.Tasks[1].Regs.Known != 0 || k.Tasks[0].Regs.Known == 0 {
		t.Error(summary(k))
	}
}

// TestBounds: kernels whose control blocks state a stack's low end and its size or its high
// end, by the layouts of their ports.
func TestBounds(t *testing.T) {
	cortexM, rv64 := archOf(arm.Archs(), "cortexm"), archOf(riscv.Archs(), "lp64d")
	for _, c := range []struct {
		name   string
		arch   *cpu.Arch
		layout string
		block  func(sp, lo, hi, name uint64) []uint64
		fp     bool
	}{
		{"RT-Thread, RISC-V", rv64, "pc ra - - - t0-t2 s0-s1 a0-a7 s2-s11 t3-t6",
			func(sp, lo, hi, name uint64) []uint64 { return []uint64{0, 0, sp, lo, hi - lo} }, false},
		{"RT-Thread, Cortex-M4F", cortexM, "flag r4-r11 flagfloats frame",
			func(sp, lo, hi, name uint64) []uint64 { return []uint64{0, 0, sp, 0x8000101, 7, lo, hi - lo} }, true},
		{"ThreadX, Cortex-M4F", cortexM, "exc floats r4-r11 frame",
			func(sp, lo, hi, name uint64) []uint64 {
				return []uint64{0x54485244, 9, sp, lo, hi - 1, hi - lo, 0, 0, 0, 0, name}
			}, true},
		{"RTX5", cortexM, "r4-r11 frame",
			func(sp, lo, hi, name uint64) []uint64 { return []uint64{0, hi - lo, lo, sp} }, false},
	} {
		m := newMachine(c.arch)
		for i := range uint64(3) {
			lo := m.base + 0x1000 + i*0x800
			m.fillStack(lo, lo+0x600, 0x23232323)
			sp := m.saved(words(c.layout), lo+0x600, c.fp && i == 1)
			block := m.base + 0x200 + i*0x100
			m.text(block, fmt.Sprintf("task%d", i))
			m.put(block+16, c.block(sp, lo, lo+0x600, block)...)
		}
		k, ok := Find(t.Context(), m.snapshot())
		if got := summary(k); !ok || len(k.Tasks) != 3 || k.Tasks[2].Name != "task2" || k.Tasks[1].Stack != (target.Range{Lo: m.base + 0x1800, Hi: m.base + 0x1e00}) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// TestThirdWord: a kernel on RISC-V that switches by calls keeps what RT-Thread does, and anything
// in the third word: a task is one with an address of its own stack there, where NuttX has SP.
func TestThirdWord(t *testing.T) {
	m := newMachine(archOf(riscv.Archs(), "lp64d"))
	names := []string{"main", "net", "log", "assert"}
	for i := range uint64(3) {
		lo := m.base + 0x1000 + i*0x800
		sp := m.saved(words("pc ra - - - t0-t2 s0-s1 a0-a7 s2-s11 t3-t6"), lo+0x600, false)
		if i == 0 {
			m.put(sp+16, lo+0x600)
		}
		m.put(m.base+0x200+i*32, m.base+0x100+i*16, sp, lo, 0x600) // one after the other: a name, SP, the stack
	}
	for i, name := range names {
		m.text(m.base+0x100+uint64(i)*16, name)
	}
	m.put(m.base+0x200+3*32, m.base+0x100+3*16)
	k, ok := Find(t.Context(), m.snapshot())
	if !ok || len(k.Tasks) != 3 || k.Tasks[0].Name != "main" || k.Tasks[2].Name != "log" {
		t.Error(summary(k))
	}
}

// TestNoKernel: memory without one has no tasks, whatever it holds.
func TestNoKernel(t *testing.T) {
	for _, arch := range []*cpu.Arch{archOf(arm.Archs(), "cortexm"), archOf(riscv.Archs(), "ilp32")} {
		m := newMachine(arch)
		if k, ok := Find(t.Context(), m.snapshot()); ok {
			t.Errorf("zeros: %s", summary(k))
		}
		for i := 0; i < 0x8000; i += 4 {
			v := uint64(m.base) + uint64(i*7919%0x8000)&^3
			if i%3 == 0 {
				v = m.code | 1
			}
			m.put(m.base+uint64(i), v)
		}
		if k, ok := Find(t.Context(), m.snapshot()); ok {
			t.Errorf("pointers and return addresses: %s", summary(k))
		}
	}
}

// FuzzFind: any memory; each task has a stack of its own, in memory.
func FuzzFind(f *testing.F) {
	cortexM := archOf(arm.Archs(), "cortexm")
	m := newMachine(cortexM)
	layFreeRTOS(m, words("r4-r11 exc floats frame"), func(i int) bool { return i == 1 })
	f.Add(m.ram[:0x2000])
	f.Fuzz(func(t *testing.T, ram []byte) {
		m := newMachine(cortexM)
		m.ram = ram[:min(len(ram), 0x2000)]
		k, _ := Find(t.Context(), m.snapshot())
		for i, a := range k.Tasks {
			for _, b := range k.Tasks[i+1:] {
				if a.Stack.Lo == b.Stack.Lo {
					t.Errorf("two tasks on the stack at %#x", a.Stack.Lo)
				}
			}
		}
	})
}

// TestTopOfMemory: memory may reach to the last of 2⁶⁴ addresses, behind which there is none.
func TestTopOfMemory(t *testing.T) {
	for _, size := range []uint64{64, 61, 3} {
		m := newMachine(archOf(riscv.Archs(), "lp64d"))
		m.ram, m.base = make([]byte, size), -size
		if k, ok := Find(t.Context(), m.snapshot()); ok {
			t.Errorf("%d bytes: %s", size, summary(k))
		}
	}
}

// TestFindEndsWithContext: a search that is broken off has found nothing.
func TestFindEndsWithContext(t *testing.T) {
	m := newMachine(archOf(arm.Archs(), "cortexm"))
	layFreeRTOS(m, words("r4-r11 frame"), func(int) bool { return false })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if k, ok := Find(ctx, m.snapshot()); ok {
		t.Errorf("found %s", summary(k))
	}
}
