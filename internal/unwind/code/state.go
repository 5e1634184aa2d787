package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
)

// maxSlots bounds the stack slots that a state remembers. Frames that save more
// than the preserved registers and a few pointers do not exist in practice.
const maxSlots = 48

// slot is a remembered store to base + off.
type slot struct {
	base base
	size uint8
	// released: SP was above it since, so that it goes when SP comes down again.
	released bool
	off      int64
	val      value
}

// state is what is known before an instruction: registers and stack slots in
// terms of the start of the analysis.
type state struct {
	regs  [cpu.MaxRegs]value
	slots []slot
	// limit is the bound that the last comparison gives a jump table that follows:
	// its number of elements, 0 unknown. Where the comparison only set flags, the
	// branch decides whether the constant itself is still inside (cmp 9; ja) or not
	// (cmp 10; jae): then limit counts it and slack is 1.
	limit, slack int64
}

// reset makes every register its own start value.
func (s *state) reset(arch *cpu.Arch) {
	for r := range s.regs {
		s.regs[r] = startOf(cpu.Reg(r))
	}
	if arch.Zero != cpu.NoReg {
		s.regs[arch.Zero] = constant(0)
	}
	s.slots, s.limit, s.slack = s.slots[:0], 0, 0
}

// copyFrom makes s equal to o without sharing its slots.
func (s *state) copyFrom(o *state) {
	s.regs, s.limit, s.slack = o.regs, o.limit, o.slack
	s.slots = append(s.slots[:0], o.slots...)
}

func (s *state) get(r cpu.Reg) value {
	if r >= cpu.MaxRegs {
		return value{}
	}
	return s.regs[r]
}

func (s *state) set(r cpu.Reg, v value, arch *cpu.Arch) {
	if r < cpu.MaxRegs && r != arch.Zero {
		s.regs[r] = v
	}
}

// load is the value of a register-sized word at a, contents when nothing was
// stored there since the start.
func (s *state) load(a value, size uint8) value {
	if a.kind != addr {
		return value{}
	}
	for i := range s.slots {
		sl := &s.slots[i]
		if sl.base != a.base || sl.off+int64(sl.size) <= a.off || a.off+int64(size) <= sl.off {
			continue
		}
		if sl.off == a.off && sl.size == size {
			return sl.val
		}
		return value{}
	}
	return value{kind: contents, base: a.base, off: a.off}
}

// store remembers v at a. A store through an unknown address is assumed to leave
// the saved registers alone: compilers' code does, or the backtrace is lost anyway.
func (s *state) store(a, v value, size uint8) {
	if a.kind != addr {
		return
	}
	keep := s.slots[:0]
	for _, sl := range s.slots {
		if sl.base != a.base || sl.off+int64(sl.size) <= a.off || a.off+int64(size) <= sl.off {
			keep = append(keep, sl)
		}
	}
	s.slots = keep
	if len(s.slots) < maxSlots {
		s.slots = append(s.slots, slot{base: a.base, size: size, off: a.off, val: v})
	}
}

// moveSP sets SP. What lies below it stays readable (epilogues of x86-64 load from the
// red zone), but is not what a new frame finds there.
func (s *state) moveSP(sp cpu.Reg, v value) {
	old := s.regs[sp]
	s.regs[sp] = v
	if v.kind != addr || old.kind != addr || v.base != old.base || v.off == old.off {
		return
	}
	if v.off < old.off {
		s.slots = slices.DeleteFunc(s.slots, func(sl slot) bool { return sl.released && sl.base == v.base && sl.off >= v.off })
		return
	}
	for i := range s.slots {
		sl := &s.slots[i]
		sl.released = sl.released || sl.base == v.base && sl.off < v.off
	}
}

// joinSlot is what the state knows of slot sl: its value, or contents/unknown.
func (s *state) joinSlot(sl *slot) value {
	for i := range s.slots {
		if o := &s.slots[i]; o.base == sl.base && o.off == sl.off && o.size == sl.size {
			return o.val
		}
	}
	return value{}
}

// holds tells whether a slot holds v.
func (s *state) holds(v value) bool {
	return slices.ContainsFunc(s.slots, func(sl slot) bool { return sl.val == v })
}

// join keeps in s what also holds in o and tells whether s lost anything.
func (s *state) join(o *state) (changed bool) {
	for r := range s.regs {
		if v := s.regs[r].join(o.regs[r]); v != s.regs[r] {
			s.regs[r], changed = v, true
		}
	}
	keep := s.slots[:0]
	for _, sl := range s.slots {
		v := o.joinSlot(&sl)
		if v == sl.val {
			keep = append(keep, sl)
			continue
		}
		changed = true
	}
	s.slots = keep
	if s.limit != o.limit && s.limit != 0 {
		s.limit, changed = 0, true
	}
	return changed
}
