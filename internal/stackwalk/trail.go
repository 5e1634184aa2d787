package stackwalk

import (
	"encoding/binary"
	"math/bits"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// ruleTrail is the way of a fastPath from a frame whose registers are known: the rules that
// led from frame to frame. A register is read from where the last rule on the trail saved
// it, and only when a rule or the caller of fastPath.advance needs its value.
type ruleTrail struct {
	rules []*packed.Rule
	stack window
	start *cpu.Registers // of the first frame
	arch  *cpu.Arch
}

// begin starts a trail at s, whose SP is sp.
func (t *ruleTrail) begin(s *State, sp uint64) {
	if t.rules == nil {
		t.rules = make([]*packed.Rule, 0, 64)
	}
	t.rules, t.start, t.arch = t.rules[:0], s.Regs, s.Snapshot.Arch
	t.stack.open(s.Snapshot, sp)
}

// linkRegister is the link register of the last frame. Only the first frame's is known:
// calls change it.
func (t *ruleTrail) linkRegister() (uint64, bool) {
	if len(t.rules) > 0 {
		return 0, false
	}
	return t.start.Lookup(t.arch.LR)
}

// value is the value of a register in the last of frames, which the rules lead through.
func (t *ruleTrail) value(reg cpu.Reg, frames []unwind.Frame) (uint64, bool) {
	if !t.arch.Preserved.Has(reg) && len(t.rules) > 0 {
		return 0, false
	}
	return t.valueAt(len(t.rules), reg, frames)
}

// valueAt is a register's value in the i-th of frames: what the nearest rule before the
// frame saved, else the value at the start of the trail.
func (t *ruleTrail) valueAt(i int, reg cpu.Reg, frames []unwind.Frame) (uint64, bool) {
	index := preservedIndex(t.arch, reg)
	for i--; i >= 0 && index > 0; i-- {
		r := t.rules[i]
		if !r.Saves(index) {
			continue
		}
		off, ok := r.Slot(index, t.stack.size)
		origin, known := t.slotOrigin(i, frames)
		if !ok || !known {
			return 0, false
		}
		return t.stack.word((origin + off) & t.arch.AddrMask())
	}
	return t.start.Lookup(reg)
}

// slotOrigin is the address that the slots of the i-th rule's registers are relative to.
func (t *ruleTrail) slotOrigin(i int, frames []unwind.Frame) (addr uint64, ok bool) {
	r := t.rules[i]
	base, off, _ := r.CFA()
	switch {
	case !r.Beside():
		return frames[i].CFA, true
	case base == t.arch.SP && i > 0:
		addr, ok = frames[i-1].CFA, true
	default:
		addr, ok = t.valueAt(i, base, frames)
	}
	return addr + off, ok
}

// materialize makes s the state of the last of frames, which is to be unwound next, with the registers
// that the rules have saved restored.
func (t *ruleTrail) materialize(s *State, frames []unwind.Frame) {
	arch := t.arch
	var regs cpu.Registers
	for set := arch.Preserved & ^cpu.SetOf(arch.SP, arch.PC); set != 0; set = set.Without(set.First()) {
		if v, ok := t.value(set.First(), frames); ok {
			regs.Set(set.First(), v)
		}
	}
	f, callee := &frames[len(frames)-1], &frames[len(frames)-2]
	regs.Set(arch.SP, callee.CFA)
	regs.Set(arch.PC, f.PC)
	*s.Regs = regs
	s.PC, s.Site, s.Mode, s.Exact, s.Module = f.PC, f.CallSite, f.Mode, false, f.Module
}

// preservedIndex is the bit of a preserved register in packed.Rule.Saves, 0 where it has none.
func preservedIndex(arch *cpu.Arch, reg cpu.Reg) int {
	if !arch.Preserved.Has(reg) {
		return 0
	}
	return bits.OnesCount64(uint64(arch.Preserved)&(1<<reg-1)) + 1
}

// window is the captured stack from some address on, for reading saved registers
// without looking for the segment each time.
type window struct {
	data []byte
	addr uint64
	room uint64 // at offsets below room, data has eight bytes
	// One read of eight bytes serves every width and byte order.
	swap  bool
	shift uint8
	mask  uint64
	size  int
	mem   *target.Memory
}

// open moves the window to the memory at addr, words as snap's ABI saves them.
func (v *window) open(snap *target.Snapshot, addr uint64) {
	size := snap.Arch.RegSize
	*v = window{data: snap.Memory.Bytes(addr), addr: addr, mem: snap.Memory, size: size, mask: ^uint64(0) >> (64 - 8*size)}
	if len(v.data) >= 8 {
		v.room = uint64(len(v.data)) - 7
	}
	if snap.Arch.BigEndian {
		v.swap, v.shift = true, uint8(64-8*size)
	}
}

// inWindow reads a saved word, if all of its bytes lie in the window.
func (v *window) inWindow(addr uint64) (uint64, bool) {
	off := addr - v.addr
	if off >= v.room {
		return 0, false
	}
	x := binary.LittleEndian.Uint64(v.data[off:])
	if v.swap {
		x = bits.ReverseBytes64(x)
	}
	return x >> (v.shift & 63) & v.mask, true
}

// word reads a saved word, wherever it was captured.
func (v *window) word(addr uint64) (uint64, bool) {
	if x, ok := v.inWindow(addr); ok {
		return x, ok
	}
	return v.mem.Uint(addr, v.size)
}
