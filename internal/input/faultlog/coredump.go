package faultlog

import (
	"encoding/hex"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// coredump is a core dump of Zephyr that its logging backend prints in hexadecimal
// (subsys/debug/coredump; the layout is that of "Core Dump File Format" in Zephyr's
// documentation):
//
//	header         'Z' 'E', version 2, target code 2, pointer size 1, flags 1, reason 4
//	architecture   'A', version 2, size 2, registers
//	memory         'M', version 2, start, end, bytes; any number of times
type coredump struct {
	bytes []byte
	done  bool // the last line was read
}

// takeDump takes a line of the dump.
func (w *words) takeDump(line string) bool {
	_, text, ok := strings.Cut(line, "#CD:")
	if !ok {
		return false
	}
	if w.dump == nil {
		w.dump = new(coredump)
	}
	switch text = strings.TrimSpace(text); {
	case strings.HasPrefix(text, "BEGIN#"):
	case strings.HasPrefix(text, "END#"):
		w.dump.done = true
	case strings.HasPrefix(text, "ERROR"):
		w.issues = append(w.issues, "the device could not finish its core dump")
	default:
		b, err := hex.DecodeString(text)
		if w.dump.bytes = append(w.dump.bytes, b...); err != nil {
			w.issues = append(w.issues, "a line of the core dump lost digits; what lies behind it is not read")
			w.dump.done = true
		}
	}
	return true
}

// The header's size, and the code of 64-bit pointers in it.
const (
	dumpHeader = 12
	pointers64 = 6
)

// The orders of registers in the architecture block, by its version and number of words (arch/*/core/coredump.c).
const (
	zephyrX86    = "- - eax ecx edx ebx esp ebp esi edi eip eflags"
	zephyrX86_64 = "- - rax rcx rdx rsi rdi rsp r8 r9 r10 r11 rip eflags - - rbp rbx r12 r13 r14 r15"
	zephyrARM1   = "r0 r1 r2 r3 r12 lr pc xpsr sp"
	zephyrARM2   = zephyrARM1 + " r4 r5 r6 r7 r8 r9 r10 r11"
	zephyrRISCV1 = "ra tp t0 t1 t2 a0 a1 a2 a3 a4 a5 a6 a7 t3 t4 t5 t6 pc sp"
	zephyrRV32E  = "ra tp t0 t1 t2 a0 a1 a2 a3 a4 a5 pc sp"
	zephyrARM64  = "x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17 x18 x30 - pc"
	zephyrARM64s = zephyrARM64 + " x29 sp"
	// In front of Xtensa's stands a word of its own: the SoC, a version, the toolchain. SCOMPARE1, and LBEG, LEND and LCOUNT at the
	// end, are those of processors that have these.
	zephyrXtensa  = "- pc - - sar ps a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15"
	zephyrXtensaS = "- pc - - sar ps - a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15"
)

// zephyrTarget is a processor by its code in the header (include/zephyr/debug/coredump.h). Cortex-R and Cortex-A have that of
// Cortex-M; the binary tells them.
type zephyrTarget struct {
	code      byte
	wide      bool
	name, abi string
	orders    []string // the shortest first
}

var zephyrTargets = []zephyrTarget{
	{1, false, "i386", "", []string{zephyrX86}},
	{2, true, "x86_64", "", []string{zephyrX86_64}},
	{3, false, "arm", "cortexm", []string{zephyrARM1, zephyrARM2}},
	{4, false, "riscv32", "", []string{zephyrRV32E, zephyrRISCV1}},
	{4, true, "riscv64", "", []string{zephyrRISCV1}},
	{5, false, "xtensa", "", []string{zephyrXtensa, zephyrXtensaS, zephyrXtensa + " - - -", zephyrXtensaS + " - - -"}},
	{6, true, "aarch64", "", []string{zephyrARM64, zephyrARM64s}},
}

// target is the processor that the header states, nil for one that is not known.
func (d *coredump) target() *zephyrTarget {
	if len(d.bytes) < dumpHeader || d.bytes[0] != 'Z' || d.bytes[1] != 'E' {
		return nil
	}
	for i := range zephyrTargets {
		if t := &zephyrTargets[i]; t.code == d.bytes[4] && t.wide == (d.bytes[6] == pointers64) {
			return t
		}
	}
	return nil
}

// arch is the descriptor of the processor that the header states, nil for an unknown processor.
func (d *coredump) arch(archs cpu.Set) *cpu.Arch {
	t := d.target()
	if t == nil {
		return nil
	}
	a, _ := archs.ByName(t.name, t.abi, false)
	return a
}

// registers are those of the architecture block, in the longest of its orders that fits.
func (d *coredump) registers(arch *cpu.Arch) (regs cpu.Registers, issues []string) {
	block, ok := d.find('A')
	t := d.target()
	if !ok || t == nil {
		return regs, []string{"the core dump has no registers"}
	}
	names := strings.Fields(t.orders[0])
	for _, order := range t.orders[1:] {
		if f := strings.Fields(order); len(block) >= len(f)*arch.RegSize {
			names = f
		}
	}
	r := bin.New(block, false)
	for _, name := range names {
		v := r.Uint(arch.RegSize)
		if r.Err() != nil {
			return regs, []string{"the core dump's registers are cut short"}
		}
		reg, ok := arch.RegByName(name)
		if name == "xpsr" && !ok {
			reg, ok = arch.Status, arch.Status != cpu.NoReg
		}
		if ok {
			regs.Set(reg, v)
		}
	}
	return regs, nil
}

// find is the content of the first block of a kind.
func (d *coredump) find(kind byte) (block []byte, ok bool) {
	d.blocks(func(k byte, _ uint64, b []byte) {
		if k == kind && !ok {
			block, ok = b, true
		}
	})
	return block, ok
}

// blocks goes through the blocks behind the header, as far as they are whole. addr is where
// memory lies.
func (d *coredump) blocks(yield func(kind byte, addr uint64, b []byte)) {
	if len(d.bytes) < dumpHeader {
		return
	}
	size := 4
	if d.bytes[6] == pointers64 {
		size = 8
	}
	r := bin.NewAt(d.bytes, dumpHeader, false)
	for r.Len() > 0 && r.Err() == nil {
		kind := r.U8()
		r.U16()
		addr, n := uint64(0), uint64(0)
		if kind == 'M' {
			addr = r.Uint(size)
			n = r.Uint(size) - addr
		} else {
			n = uint64(r.U16())
		}
		n = min(n, uint64(max(r.Len(), 0))) // the last block may be cut short
		b := r.Bytes(n)
		if r.Err() == nil {
			yield(kind, addr, b)
		}
	}
}

// addMemory adds the memory blocks.
func (d *coredump) addMemory(b *target.Builder) {
	d.blocks(func(kind byte, addr uint64, data []byte) {
		if kind == 'M' {
			b.Add(addr, data, 0, target.PermUnknown)
		}
	})
}
