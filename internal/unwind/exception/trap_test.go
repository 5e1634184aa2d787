package exception

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/unwind"
)

// The registers of the listings, by number, and CSRs.
const (
	zero, ra, sp, t0, s0, a0 = 0, 1, 2, 5, 8, 10
	mscratch, mepc           = 0x340, 0x341
)

// The instructions of the listings (unprivileged specification, chapter 2; Zicsr).
func addi(d, s uint32, n int32) uint32 { return uint32(n)<<20 | s<<15 | d<<7 | 0x13 }
func lui(d, v uint32) uint32           { return v&^0xfff | d<<7 | 0x37 }
func lw(d uint32, n int32, s uint32) uint32 {
	return uint32(n)<<20 | s<<15 | 2<<12 | d<<7 | 0x03
}
func sw(v uint32, n int32, s uint32) uint32 {
	return uint32(n)>>5<<25 | v<<20 | s<<15 | 2<<12 | uint32(n)&31<<7 | 0x23
}
func csrr(d, c uint32) uint32     { return c<<20 | 2<<12 | d<<7 | 0x73 }
func csrrw(d, c, s uint32) uint32 { return c<<20 | s<<15 | 1<<12 | d<<7 | 0x73 }
func bnez(s uint32, n uint32) uint32 {
	return s<<15 | 1<<12 | n>>1&15<<8 | n>>5&63<<25 | 0x63
}

// call goes 0x400 bytes further, or so.
const (
	call = 0x400<<20 | ra<<7 | 0x6f
	mret = 0x30200073
	ret  = 0x00008067
)

// Where things are: the interrupted code, the tasks' stack at the time of the trap, the
// interrupts' stack, the kernel's variables.
const (
	flash, interrupted, caller = 0x8000_0000, 0x8000_0700, 0x8000_0704
	other, otherSP             = 0x8000_0600, 0x8001_9000
	taskSP, handlerSP          = 0x8001_1000, 0x8002_1000
	variables                  = 0x8003_0000
)

// saveCommon stores what all entries store: ra, t0, a0 at 4, 8, 12.
func saveCommon(more ...uint32) []uint32 {
	return append([]uint32{sw(ra, 4, sp), sw(t0, 8, sp), sw(a0, 12, sp)}, more...)
}

func listing(parts ...[]uint32) (out []uint32) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// contextAt is memory with the words of a context of 0x80 bytes: pc ra t0 a0 sp.
func contextAt(a *cpu.Arch, at uint64, pc uint64) synth.Placed {
	return synth.Stack(a).Words(pc, caller, 0x55, 0xaa, taskSP).Zero(0x80 - 5*4 + 0x40).Place(at)
}

// trapTests are entries, up to the call of a handler and what follows it. The frame under
// test is the one that called, with the stack pointer at.
var trapTests = []struct {
	name   string
	code   []uint32
	at     uint64
	memory func(a *cpu.Arch) []synth.Placed
	want   unwind.Verdict
}{
	// ESP32-C, _panic_handler: one stack.
	{"one stack", listing([]uint32{addi(sp, sp, -128)}, saveCommon(addi(t0, sp, 128), sw(t0, 16, sp), csrr(t0, mepc), sw(t0, 0, sp), call, mret)),
		taskSP - 128, func(a *cpu.Arch) []synth.Placed { return []synth.Placed{contextAt(a, taskSP-128, interrupted)} }, unwind.Found},
	{"another stack in mscratch, the old SP saved", listing([]uint32{csrrw(sp, mscratch, sp), addi(sp, sp, -128)},
		saveCommon(csrr(t0, mscratch), sw(t0, 16, sp), csrr(t0, mepc), sw(t0, 0, sp), call, mret)),
		handlerSP - 128, func(a *cpu.Arch) []synth.Placed {
			return []synth.Placed{contextAt(a, handlerSP-128, interrupted), synth.Stack(a).Zero(64).Place(taskSP)}
		}, unwind.Found},
	// mscratch is 0 while a handler runs: a trap out of it stays on its stack.
	{"another stack unless the trap came out of a handler", listing([]uint32{csrrw(sp, mscratch, sp), bnez(sp, 8), csrr(sp, mscratch), addi(sp, sp, -128)},
		saveCommon(csrr(t0, mscratch), sw(t0, 16, sp), csrr(t0, mepc), sw(t0, 0, sp), call, mret)),
		handlerSP - 128, func(a *cpu.Arch) []synth.Placed {
			return []synth.Placed{contextAt(a, handlerSP-128, interrupted), synth.Stack(a).Zero(64).Place(taskSP)}
		}, unwind.Found},
	// FreeRTOS, portASM.S: the context is on the task's stack, whose SP goes to the control block.
	{"the old SP in the control block of the task", listing([]uint32{addi(sp, sp, -128)},
		saveCommon(csrr(t0, mepc), sw(t0, 0, sp), lui(t0, variables), lw(t0, 0, t0), sw(sp, 0, t0), lui(sp, variables), lw(sp, 4, sp), call, mret)),
		handlerSP, func(a *cpu.Arch) []synth.Placed {
			return []synth.Placed{contextAt(a, taskSP-128, interrupted), synth.Stack(a).Zero(64).Place(handlerSP),
				synth.Stack(a).Words(variables+0x10, handlerSP, 0, 0, taskSP-128).Place(variables)}
		}, unwind.Found},
	{"one handler interrupts another: its context is at SP, the task's in the control block", listing([]uint32{addi(sp, sp, -128)}, eitherStack),
		handlerSP - 128, func(a *cpu.Arch) []synth.Placed {
			return []synth.Placed{contextAt(a, handlerSP-128, interrupted), contextAt(a, otherSP-128, other),
				synth.Stack(a).Words(variables+0x10, 0, 0, 0, otherSP-128).Place(variables)}
		}, unwind.Found},
	{"a handler interrupts a task", listing([]uint32{addi(sp, sp, -128)}, eitherStack),
		handlerSP, func(a *cpu.Arch) []synth.Placed {
			return []synth.Placed{contextAt(a, taskSP-128, interrupted), synth.Stack(a).Zero(128).Place(handlerSP),
				synth.Stack(a).Words(variables+0x10, 0, 0, 0, taskSP-128).Place(variables)}
		}, unwind.Found},
	{"the old SP is lost", listing([]uint32{addi(sp, sp, -128)}, saveCommon(csrr(t0, mepc), sw(t0, 0, sp), addi(a0, sp, 0), csrrw(sp, mscratch, zero), call, mret)),
		handlerSP, func(a *cpu.Arch) []synth.Placed { return []synth.Placed{contextAt(a, taskSP-128, interrupted)} }, unwind.NoCaller},
	// A function of C, called by an entry, may read mepc and save its own return address.
	{"a function that reads mepc", []uint32{addi(sp, sp, -128), sw(ra, 4, sp), csrr(t0, mepc), sw(t0, 0, sp), call, ret},
		taskSP - 128, func(a *cpu.Arch) []synth.Placed { return []synth.Placed{contextAt(a, taskSP-128, interrupted)} }, unwind.NotCovered},
	// GCC, __attribute__((interrupt)): mepc is left where the processor put it.
	{"mepc not saved", listing([]uint32{addi(sp, sp, -128)}, saveCommon(call, lw(ra, 4, sp), lw(t0, 8, sp), lw(a0, 12, sp), addi(sp, sp, 128), mret)),
		taskSP - 128, func(a *cpu.Arch) []synth.Placed { return []synth.Placed{contextAt(a, taskSP-128, interrupted)} }, unwind.NoCaller},
	{"a call that never returns, before such a function", listing([]uint32{addi(sp, sp, -16), call, addi(sp, sp, -128)}, saveCommon(lw(ra, 4, sp), addi(sp, sp, 128), mret)),
		taskSP - 16, func(a *cpu.Arch) []synth.Placed { return []synth.Placed{synth.Stack(a).Zero(64).Place(taskSP - 16)} }, unwind.NotCovered},
	{"a context that holds no code", listing([]uint32{addi(sp, sp, -128)}, saveCommon(csrr(t0, mepc), sw(t0, 0, sp), call, ret)),
		taskSP - 128, func(a *cpu.Arch) []synth.Placed { return []synth.Placed{synth.Stack(a).Zero(256).Place(taskSP - 128)} }, unwind.NotCovered},
}

// eitherStack goes on with the stack that mscratch names, unless mscratch is 0.
var eitherStack = saveCommon(csrr(t0, mepc), sw(t0, 0, sp), csrrw(t0, mscratch, zero), bnez(t0, 20)^1<<12, // beqz
	lui(a0, variables), lw(a0, 0, a0), sw(sp, 0, a0), addi(sp, t0, 0), call, mret)

func rv32() *cpu.Arch {
	for _, a := range riscv.Archs() {
		if a.ABI == "ilp32" {
			return a
		}
	}
	return nil
}

// TestTrap: the interrupted registers come from where the entry's code has put them.
func TestTrap(t *testing.T) {
	a := rv32()
	for _, c := range trapTests {
		t.Run(c.name, func(t *testing.T) {
			text := make([]byte, 0x800)
			for i, w := range c.code {
				binary.LittleEndian.PutUint32(text[0x100+4*i:], w)
			}
			binary.LittleEndian.PutUint32(text[caller-flash-4:], call)
			at := uint64(flash + 0x100)
			for c.code[(at-flash-0x100)/4] != call {
				at += 4
			}
			snap := synth.Capture(a, modules(synth.Module(a, flash, text)), c.memory(a)...)
			regs := synth.Regs(a, map[string]uint64{"pc": at + 4, "sp": c.at, "s0": 0x88})
			var got stackwalk.Caller
			if v := (Source{}).Step(captured.State(snap, regs, false), &got); v != c.want {
				t.Fatalf("%v, want %v: %+v", v, c.want, got)
			}
			if c.want != unwind.Found {
				return
			}
			stack := uint64(taskSP)
			if got.HasCFA {
				stack = c.at + 128
			}
			for name, want := range map[string]uint64{"pc": interrupted, "sp": stack, "ra": caller, "t0": 0x55, "a0": 0xaa, "s0": 0x88} {
				r, _ := a.RegByName(name)
				if v, ok := got.Regs.Lookup(r); !ok || v != want {
					t.Errorf("%s = %#x, want %#x", name, v, want)
				}
			}
			if !got.Exact {
				t.Error("not exact")
			}
		})
	}
}

// FuzzTrap: any code and any stack end, and move on.
func FuzzTrap(f *testing.F) {
	a := rv32()
	for _, c := range trapTests {
		var b []byte
		for _, w := range c.code {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		f.Add(b, uint16(4*len(c.code)-4), uint32(c.at))
	}
	f.Fuzz(func(t *testing.T, code []byte, pc uint16, stack uint32) {
		if len(code) == 0 {
			return
		}
		snap := synth.Capture(a, modules(synth.Module(a, flash, code)), contextAt(a, taskSP-128, interrupted))
		regs := synth.Regs(a, map[string]uint64{"pc": flash + uint64(pc), "sp": uint64(stack)})
		(Source{}).Step(captured.State(snap, regs, pc&2 != 0), new(stackwalk.Caller))
	})
}
