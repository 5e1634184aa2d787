// Package cortexm knows how ARM's microcontroller profile takes an exception: which
// registers it pushes, where, and what LR then says about it. The terms are those of the
// Armv8-M Architecture Reference Manual (DDI 0553, B3.18 to B3.22), whose rules contain
// those of Armv7-M (DDI 0403, B1.5.6 to B1.5.8) and Armv6-M.
package cortexm

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// ExcReturn is the value of LR on entry to a handler (DDI 0553 D1.2.78).
type ExcReturn uint32

const (
	prefix ExcReturn = 0xffff_ff80 // PREFIX is 0xff, bits 23 to 7 are ones
	zeros  ExcReturn = 1 << 1
	spsel  ExcReturn = 1 << 2
	thread ExcReturn = 1 << 3 // Mode
	ftype  ExcReturn = 1 << 4 // the frame has no floating-point registers
	secure ExcReturn = 1 << 6 // S: the secure stack
)

// Valid excludes 0xffffffff and 0xfffffffe, which are −1 and the PC of a locked-up core.
// Bit 0, which code addresses lose with the ISA mode, may be lost here too.
func (e ExcReturn) Valid() bool { return e&prefix == prefix && e&zeros == 0 }

// ProcessStack tells whether the frame is on the process stack. Handlers always use the
// main stack.
func (e ExcReturn) ProcessStack() bool { return e&(spsel|thread) == spsel|thread }

// Thread tells whether the interrupted code ran in Thread mode.
func (e ExcReturn) Thread() bool { return e&thread != 0 }

// Secure tells whether the frame is on a secure stack, where more registers may lie below
// the frame.
func (e ExcReturn) Secure() bool { return e&secure != 0 }

// Extended tells whether the frame has room for floating-point registers.
func (e ExcReturn) Extended() bool { return e&ftype == 0 }

// BasicFrame is the size of r0–r3, r12, LR, PC, xPSR.
const BasicFrame = 8 * 4

const (
	floatingPart  = 18 * 4  // s0–s15, FPSCR, a reserved word
	realigned     = 1 << 9  // of the stacked xPSR: four bytes of padding
	thumbState    = 1 << 24 // EPSR.T
	calleeContext = 10 * 4  // signature, a reserved word, r4–r11
	signature     = 0xfefa_125a
)

// FrameSize is the size of a frame without the additional state context: by how much SP
// was moved. xpsr is the stacked one.
func (e ExcReturn) FrameSize(xpsr uint64) uint64 {
	size := uint64(BasicFrame)
	if e.Extended() {
		size += floatingPart
	}
	if xpsr&realigned != 0 {
		size += 4
	}
	return size
}

// Thumb tells whether a stacked xPSR is of code that ran in Thumb state, the only one that
// there is. Where not, having left that state is the fault.
func Thumb(xpsr uint64) bool { return xpsr&thumbState != 0 }

// Stacked reads the basic frame at an address; arch is of the microcontroller profile.
func Stacked(arch *cpu.Arch, mem *target.Memory, at uint64) (regs cpu.Registers, ok bool) {
	layout, ok := arch.Layouts[cpu.CortexMFrame]
	if !ok {
		return regs, false
	}
	var block [BasicFrame]byte
	if mem.Read(at, block[:]) < len(block) {
		return regs, false
	}
	return arch.Read(layout, block[:]), true
}

// IsFrame tells whether the words at an address are registers as a report has them, of which most must be known.
func IsFrame(arch *cpu.Arch, mem *target.Memory, at uint64, regs *cpu.Registers) bool {
	stacked, ok := Stacked(arch, mem, at)
	if !ok {
		return false
	}
	same := 0
	for s := stacked.Known & regs.Known; s != 0; s = s.Without(s.First()) {
		if stacked.Val[s.First()] != regs.Val[s.First()] {
			return false
		}
		same++
	}
	return same >= 5
}

// Frames are the places in a range of memory where a report's registers lie as a frame, at most two: with the words of LR and PC
// first, since few places have both. Handlers copy the frame to the stack that they run on.
func Frames(arch *cpu.Arch, mem *target.Memory, in target.Range, regs *cpu.Registers) (found []uint64) {
	const offsetLR = 5 * 4
	word := binary.LittleEndian.Uint32
	pc, okPC := regs.Lookup(arch.PC)
	lr, okLR := regs.Lookup(arch.LR)
	data := mem.Bytes(in.Lo)
	data = data[:min(uint64(len(data)), in.Hi-in.Lo)]
	for i := 0; i+8 <= len(data) && okPC && okLR && len(found) < 2; i += 4 {
		if word(data[i:]) != uint32(lr) || word(data[i+4:]) != uint32(pc) { // little-endian wherever code is (all known parts)
			continue
		}
		if at := in.Lo + uint64(i) - offsetLR; IsFrame(arch, mem, at, regs) {
			found = append(found, at)
		}
	}
	return found
}

// CalleeRegisters takes r4 to r11 from the additional state context at an address, and
// returns its size, 0 where there is none. That context lies below the frame of secure
// code that a non-secure exception interrupted. Whether it is there follows from
// EXC_RETURN.ES and DCRS; ES is bit 0, which may be lost with the ISA mode, so the
// integrity signature decides (DDI 0553 B3.19; its bit 0 is set when there are no
// floating-point registers).
func CalleeRegisters(arch *cpu.Arch, mem *target.Memory, at uint64, regs *cpu.Registers) uint64 {
	if v, ok := mem.Uint(at, 4); !ok || v&^1 != signature {
		return 0
	}
	slot := at + 2*4
	for s := arch.Preserved; s != 0; s = s.Without(s.First()) {
		if v, ok := mem.Uint(slot, 4); ok {
			regs.Set(s.First(), v)
		}
		slot += 4
	}
	return calleeContext
}
