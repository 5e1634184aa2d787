package absint

import (
	"slices"

	"github.com/backsight/backsight/cpu"
)

// maxSlots bounds the stack slots that a state remembers. Frames that save more than
// the preserved registers and a few pointers do not exist in practice.
const maxSlots = 48

// Slot is a remembered store to Base + Off.
type Slot struct {
	Base Base
	Size uint8
	// released: SP was above the slot since, so that the slot goes when SP comes
	// down again.
	released bool
	Off      int64
	Val      Value
}

// same tells whether two slots lie at the same place.
func (s *Slot) same(o *Slot) bool { return s.Off == o.Off && s.Base == o.Base && s.Size == o.Size }

// Released tells whether SP was raised above the slot.
func (s *Slot) Released() bool { return s.released }

// Address is where the slot lies.
func (s *Slot) Address() Value { return Value{Kind: StartRelative, Base: s.Base, Off: s.Off} }

// State is what is known before an instruction: registers and stack slots in terms of
// the start of the analysis.
type State struct {
	Regs  [cpu.MaxRegs]Value // the CPU's; others are not used
	n     int                // how many the CPU has
	Slots []Slot
	// Limit is the bound that the last comparison gives a jump table that follows:
	// its number of elements, 0 unknown. Where the comparison only set flags, the
	// branch decides whether the constant itself is still inside (cmp 9; ja) or not
	// (cmp 10; jae): then Limit counts the constant and Slack is 1. Limit is negative as long as
	// branches asked for nothing but whether both were equal, which bounds nothing.
	Limit, Slack int64
}

// Start makes every register its own start value.
func (s *State) Start(arch *cpu.Arch) {
	s.n = len(arch.Regs)
	for r := range s.Regs[:s.n] {
		s.Regs[r] = StartOf(cpu.Reg(r))
	}
	if arch.Zero != cpu.NoReg {
		s.Regs[arch.Zero] = Const(0)
	}
	s.Slots, s.Limit, s.Slack = s.Slots[:0], 0, 0
}

// CopyFrom makes s equal to o without sharing its slots.
func (s *State) CopyFrom(o *State) {
	s.n, s.Limit, s.Slack = o.n, o.Limit, o.Slack
	copy(s.Regs[:s.n], o.Regs[:s.n])
	s.Slots = append(s.Slots[:0], o.Slots...)
}

// Get is the value of a register, unknown for NoReg.
func (s *State) Get(r cpu.Reg) Value {
	if r >= cpu.MaxRegs {
		return Value{}
	}
	return s.Regs[r]
}

// Set sets a register that is not the zero register.
func (s *State) Set(r cpu.Reg, v Value, arch *cpu.Arch) {
	if r < cpu.MaxRegs && r != arch.Zero {
		s.Regs[r] = v
	}
}

// Load is the value of a word of so many bytes at an address: StartMemory when nothing
// was stored there since the start.
func (s *State) Load(a Value, size uint8) Value {
	if a.Kind != StartRelative {
		return Value{}
	}
	for i := range s.Slots {
		sl := &s.Slots[i]
		if sl.Base != a.Base || sl.Off+int64(sl.Size) <= a.Off || a.Off+int64(size) <= sl.Off {
			continue
		}
		if sl.Off == a.Off && sl.Size == size {
			return sl.Val
		}
		return Value{}
	}
	return Value{Kind: StartMemory, Base: a.Base, Off: a.Off}
}

// Store remembers v at an address. A store through an unknown address is assumed to
// leave the saved registers alone: compilers' code does, or the backtrace is lost anyway.
func (s *State) Store(a, v Value, size uint8) {
	if a.Kind != StartRelative {
		return
	}
	keep := s.Slots[:0]
	for _, sl := range s.Slots {
		if sl.Base != a.Base || sl.Off+int64(sl.Size) <= a.Off || a.Off+int64(size) <= sl.Off {
			keep = append(keep, sl)
		}
	}
	s.Slots = keep
	if len(s.Slots) < maxSlots {
		s.Slots = append(s.Slots, Slot{Base: a.Base, Size: size, Off: a.Off, Val: v})
	}
}

// moveSP sets SP. What lies below the new SP stays readable (epilogues of x86-64 load
// from the red zone), but is not what a new frame finds there.
func (s *State) moveSP(sp cpu.Reg, v Value) {
	old := s.Regs[sp]
	s.Regs[sp] = v
	if v.Kind != StartRelative || old.Kind != StartRelative || v.Base != old.Base || v.Off == old.Off {
		return
	}
	if v.Off < old.Off {
		s.Slots = slices.DeleteFunc(s.Slots, func(sl Slot) bool { return sl.released && sl.Base == v.Base && sl.Off >= v.Off })
		return
	}
	for i := range s.Slots {
		sl := &s.Slots[i]
		sl.released = sl.released || sl.Base == v.Base && sl.Off < v.Off
	}
}

// Holds tells whether a slot holds v.
func (s *State) Holds(v Value) bool {
	return slices.ContainsFunc(s.Slots, func(sl Slot) bool { return sl.Val == v })
}

// Saved tells whether a slot holds the start value of a register of the set.
func (s *State) Saved(set cpu.RegSet) bool {
	return slices.ContainsFunc(s.Slots, func(sl Slot) bool {
		return sl.Val.Kind == StartRelative && sl.Val.Off == 0 && sl.Val.OfRegister() && set.Has(cpu.Reg(sl.Val.Base))
	})
}

// Forget makes registers unknown.
func (s *State) Forget(set cpu.RegSet) {
	for ; set != 0; set = set.Without(set.First()) {
		s.Regs[set.First()] = Value{}
	}
}

// Join keeps in s what also holds in o and tells whether s lost anything.
func (s *State) Join(o *State) (changed bool) {
	for r := range s.Regs[:s.n] {
		if v := &s.Regs[r]; v.Kind != Unknown && *v != o.Regs[r] {
			*v, changed = Value{}, true
		}
	}
	keep := s.Slots[:0]
	for _, sl := range s.Slots {
		if o.slotValue(&sl) == sl.Val {
			keep = append(keep, sl)
			continue
		}
		changed = true
	}
	s.Slots = keep
	if s.Limit != o.Limit && s.Limit != 0 {
		s.Limit, changed = 0, true
	}
	return changed
}

// slotValue is what the state has in a slot, unknown where the state has no such slot.
func (s *State) slotValue(sl *Slot) Value {
	for i := range s.Slots {
		if o := &s.Slots[i]; o.same(sl) {
			return o.Val
		}
	}
	return Value{}
}

// FrameGone tells whether SP and the return address are as on entry.
func (s *State) FrameGone(arch *cpu.Arch) bool {
	return s.Regs[arch.SP].IsStartOf(arch.SP) && (arch.CallPushesRA || s.Regs[arch.LR].IsStartOf(arch.LR))
}

// FrameRestored tells whether the function saved the return address or a preserved
// register: their return to the registers is then evidence that a frame was undone.
func (s *State) FrameRestored(arch *cpu.Arch) bool { return s.Saved(arch.Preserved.With(arch.LR)) }

// JoinUntaken makes s what holds behind a run of conditional instructions whose transfer
// is not taken; taken is what holds where all of them happened. Their conditions need not
// be the same (moveq r6,r0; popne {…}), so that any of them may have happened, but nobody
// releases the frame under one condition and returns under another. Room is made under one, and a branch taken
// under the other: clang for ARM, -fsanitize=undefined, has subgt r4,sp,r2; movgt sp,r4; ble to a trap.
func (s *State) JoinUntaken(taken *State, sp cpu.Reg) {
	was, is := s.Regs[sp], taken.Regs[sp]
	s.Join(taken)
	if is.Kind == StartRelative && is.Base == was.Base && is.Off >= was.Off {
		s.Regs[sp] = was
	}
}
