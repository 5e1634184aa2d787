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
		if err != nil {
			w.issues = append(w.issues, "a line of the core dump lost digits; what lies behind it is not read")
			w.dump.done = true
			return true
		}
		w.dump.bytes = append(w.dump.bytes, b...)
	}
	return true
}

// The target codes (include/zephyr/debug/coredump.h).
const (
	zephyrARM   = 3 // Cortex-M
	zephyrRISCV = 4
)

// The header's size, and the code of 64-bit pointers in it.
const (
	dumpHeader = 12
	pointers64 = 6
)

// arch is the descriptor of the processor that the header states, nil for an unknown processor.
func (d *coredump) arch(archs cpu.Set) *cpu.Arch {
	if len(d.bytes) < dumpHeader || d.bytes[0] != 'Z' || d.bytes[1] != 'E' {
		return nil
	}
	name, abi := "", ""
	switch code := d.bytes[4]; {
	case code == zephyrARM:
		name, abi = "arm", "cortexm"
	case code == zephyrRISCV && d.bytes[6] == pointers64:
		name = "riscv64"
	case code == zephyrRISCV:
		name = "riscv32"
	default:
		return nil
	}
	a, _ := archs.ByName(name, abi, false)
	return a
}

// The orders of registers in the architecture block, by its version and number of words
// (arch/arm/core/cortex_m/coredump.c, arch/riscv/core/coredump.c).
const (
	zephyrARM1   = "r0 r1 r2 r3 r12 lr pc xpsr sp"
	zephyrARM2   = zephyrARM1 + " r4 r5 r6 r7 r8 r9 r10 r11"
	zephyrRISCV1 = "ra tp t0 t1 t2 a0 a1 a2 a3 a4 a5 a6 a7 t3 t4 t5 t6 pc sp"
	zephyrRV32E  = "ra tp t0 t1 t2 a0 a1 a2 a3 a4 a5 pc sp"
)

// registers are those of the architecture block.
func (d *coredump) registers(arch *cpu.Arch) (regs cpu.Registers, issues []string) {
	block, ok := d.find('A')
	if !ok {
		return regs, []string{"the core dump has no registers"}
	}
	order := zephyrRISCV1
	switch micro := arch.Micro(); {
	case micro && len(block) >= 17*4:
		order = zephyrARM2
	case micro:
		order = zephyrARM1
	case len(block) < 18*arch.RegSize:
		order = zephyrRV32E
	}
	r := bin.New(block, false)
	for name := range strings.FieldsSeq(order) {
		v := r.Uint(arch.RegSize)
		if r.Err() != nil {
			break
		}
		if reg, ok := arch.RegByName(name); ok {
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
