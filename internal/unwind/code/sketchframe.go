package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// entered is the frame on entry.
func (f *frame) entered(arch *cpu.Arch, tracked cpu.RegSet) {
	f.kept, f.saved, f.derived = tracked&^cpu.SetOf(arch.SP), 0, cpu.SetOf(arch.SP)
	f.off[arch.SP] = 0
}

// equal compares what two frames know.
func (f *frame) equal(o *frame) bool {
	return f.kept == o.kept && f.saved == o.saved && f.derived == o.derived && f.differ(o) == 0 && f.homeless(o) == 0
}

// homeless returns the registers whose place f knows and o does not, or elsewhere.
func (f *frame) homeless(o *frame) (lost cpu.RegSet) {
	lost = f.kept&^o.kept | f.saved&^o.saved
	for s := f.saved & o.saved; s != 0; s &= s - 1 {
		if r := s.First(); f.slot[r] != o.slot[r] {
			lost = lost.With(r)
		}
	}
	return lost
}

// differ returns the registers that f derives from SP on entry and o does not, or
// otherwise.
func (f *frame) differ(o *frame) (lost cpu.RegSet) {
	lost = f.derived &^ o.derived
	for s := f.derived & o.derived; s != 0; s &= s - 1 {
		if r := s.First(); f.off[r] != o.off[r] {
			lost = lost.With(r)
		}
	}
	return lost
}

// meet keeps in f what also holds in o.
func (f *frame) meet(o *frame) {
	lost := f.homeless(o)
	f.kept &^= lost
	f.saved &^= lost
	f.derived &^= f.differ(o)
}

// lose forgets registers that got other values.
func (f *frame) lose(set cpu.RegSet) {
	f.kept &^= set
	f.derived &^= set
}

// stored notes a store of src, which may be no register, to SP on entry + at. A
// saved register's home is its slot.
func (f *frame) stored(at int32, src cpu.Reg, size uint8, regSize int) {
	for s := f.saved; s != 0; s &= s - 1 {
		if r := s.First(); f.slot[r] < at+int32(size) && at < f.slot[r]+int32(regSize) {
			f.saved = f.saved.Without(r)
		}
	}
	if f.kept.Has(src) && at < 0 && int(size) == regSize {
		f.kept, f.saved, f.slot[src] = f.kept.Without(src), f.saved.With(src), at
	}
}

// loaded notes a load into dst from SP on entry + at: it gets its own value back, or
// another one.
func (f *frame) loaded(at int32, dst cpu.Reg, size uint8, regSize int) {
	own := f.saved.Has(dst) && f.slot[dst] == at && int(size) == regSize
	f.lose(cpu.SetOf(dst))
	if own {
		f.kept, f.saved = f.kept.With(dst), f.saved.Without(dst)
	}
}

// effects executes instructions on a frame.
type effects struct {
	machine
	// tracked are the registers that a frame follows: the preserved ones, LR and SP.
	// Of bases, those that may hold SP plus a constant.
	tracked, bases cpu.RegSet
	refused        bool // some preserved register that is none got SP plus a constant
}

func newEffects(img *image.Image) effects {
	arch := img.Arch
	return effects{machine: newMachine(img), tracked: arch.Preserved.With(arch.LR).With(arch.SP), bases: arch.Preserved.With(arch.SP)}
}

// apply executes an instruction that does not transfer control, or what else a
// transfer does. It reports false where a frame cannot say the outcome.
func (e *effects) apply(f *frame, in *cpu.Insn) bool {
	switch in.Op {
	case cpu.OpNop, cpu.OpTrap, cpu.OpJump:
		return true
	case cpu.OpClobber, cpu.OpSyscall:
		f.lose(in.List)
		return !in.List.Has(e.arch.SP)
	case cpu.OpConst, cpu.OpInsert, cpu.OpAdd, cpu.OpSub, cpu.OpOrImm, cpu.OpAndImm, cpu.OpShlImm, cpu.OpOr, cpu.OpCompareImm:
		f.lose(cpu.SetOf(in.Dst))
		return in.Dst != e.arch.SP
	case cpu.OpMove:
		return in.Dst == in.Src || e.move(f, in.Dst, in.Src, 0)
	case cpu.OpAddImm:
		if in.Flags&cpu.FlagWord32 != 0 && e.arch.AddrSize != 4 {
			f.lose(cpu.SetOf(in.Dst))
			return in.Dst != e.arch.SP
		}
		return e.move(f, in.Dst, in.Src, in.Imm)
	case cpu.OpStore, cpu.OpLoad, cpu.OpStoreMulti, cpu.OpLoadMulti:
		return e.memory(f, in)
	case cpu.OpLeave:
		return e.left(f)
	case cpu.OpCall: // that reads the PC
		return in.Dst == cpu.NoReg && e.pushed(f)
	}
	return false
}

// pushed executes the push of a value that no frame is about.
func (e *effects) pushed(f *frame) bool {
	sp, size := e.arch.SP, e.arch.RegSize
	f.off[sp] -= int32(size)
	f.stored(f.off[sp], cpu.NoReg, uint8(size), size)
	return true
}

// maxFrame bounds offsets from SP on entry.
const maxFrame = 1 << 28

// move is dst = src + imm.
func (e *effects) move(f *frame, dst, src cpu.Reg, imm int64) bool {
	known := src < cpu.MaxRegs && f.derived.Has(src)
	off := int64(0)
	if known {
		off = int64(f.off[src]) + imm
		known = off > -maxFrame && off < maxFrame
	}
	if !known || !e.bases.Has(dst) {
		e.refused = e.refused || known && e.arch.Preserved.Has(dst)
		f.lose(cpu.SetOf(dst))
		return dst != e.arch.SP
	}
	f.kept = f.kept.Without(dst)
	f.derived, f.off[dst] = f.derived.With(dst), int32(off)
	return true
}

// left executes x86's leave: SP = FP; FP = mem[SP]; SP += word.
func (e *effects) left(f *frame) bool {
	fp, sp := e.arch.FP, e.arch.SP
	if !f.derived.Has(fp) {
		return false
	}
	at := f.off[fp]
	f.loaded(at, fp, uint8(e.arch.RegSize), e.arch.RegSize)
	f.off[sp] = at + int32(e.arch.RegSize)
	return true
}

// memory does loads and stores with write-back. What is not addressed by SP or what
// derives from it is assumed to be elsewhere, as in state.store.
func (e *effects) memory(f *frame, in *cpu.Insn) bool {
	known := in.Base < cpu.MaxRegs && f.derived.Has(in.Base) && in.Index == cpu.NoReg && in.Imm > -maxFrame && in.Imm < maxFrame
	at, back := int32(0), int32(0)
	if known {
		at = f.off[in.Base] + int32(in.Imm)
		back = f.off[in.Base] + in.WB
	}
	switch in.Op {
	case cpu.OpStore, cpu.OpStoreMulti:
		if known {
			e.store(f, in, at)
		}
	default:
		e.load(f, in, at, known)
	}
	if in.WB == 0 || in.Base >= cpu.MaxRegs {
		return f.derived.Has(e.arch.SP)
	}
	if !known {
		f.lose(cpu.SetOf(in.Base))
	} else if f.derived.Has(in.Base) {
		f.off[in.Base] = back
	}
	return f.derived.Has(e.arch.SP)
}

func (e *effects) store(f *frame, in *cpu.Insn, at int32) {
	size := e.arch.RegSize
	if in.Op == cpu.OpStore {
		f.stored(at, in.Src, in.Size, size)
		if in.Src2 != cpu.NoReg {
			f.stored(at+int32(in.Size), in.Src2, in.Size, size)
		}
		return
	}
	for s := in.List; s != 0; s &= s - 1 {
		f.stored(at, s.First(), in.Size, size)
		at += int32(in.Size)
	}
}

func (e *effects) load(f *frame, in *cpu.Insn, at int32, known bool) {
	set, size := in.List, e.arch.RegSize
	if in.Op == cpu.OpLoad {
		set = 0
		for i, r := range [...]cpu.Reg{in.Dst, in.Dst2} {
			if r >= cpu.MaxRegs {
				continue
			}
			if !known {
				f.lose(cpu.SetOf(r))
			} else {
				f.loaded(at+int32(i)*int32(in.Size), r, in.Size, size)
			}
		}
	}
	for ; set != 0; set &= set - 1 {
		if r := set.First(); known {
			f.loaded(at, r, in.Size, size)
		} else {
			f.lose(cpu.SetOf(r))
		}
		at += int32(in.Size)
	}
}

// undone tells whether everything is as on entry but the return address, of which
// the caller knows.
func (e *effects) undone(f *frame) bool {
	return f.off[e.arch.SP] == 0 && e.arch.Preserved&^f.kept == 0
}
