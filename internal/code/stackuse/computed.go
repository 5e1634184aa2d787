package stackuse

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
)

// computed is the lowest place of SP behind an instruction that computes SP from what is not known.
func (w *walk) computed(s *dataflow.Step) int64 {
	in := s.In
	if by, ok := w.code.Arch.Moved(in); ok {
		if in.Flags&cpu.FlagConditional != 0 {
			by = min(by, 0)
		}
		return w.low + by
	}
	from := w.low
	if low, known := w.place(s.Before.Get(in.Src)); known && in.Src != w.sp {
		from = low
	}
	switch {
	case in.Op == cpu.OpAddImm:
		return from + in.Imm
	case in.Op == cpu.OpAndImm && in.Imm < 0 && -in.Imm&(-in.Imm-1) == 0:
		w.dynamic = w.dynamic || -in.Imm > int64(w.code.Arch.StackAlign)
		return w.aligned(from, -in.Imm)
	case in.Op == cpu.OpSub:
		if most, ok := w.most.of(in.Src2, s.Before); ok && most<<in.Scale < maxBound {
			w.dynamic = true
			return from - most<<in.Scale
		}
	}
	if !raises(in) {
		w.dynamic = true
		w.doubt(s.PC, Dynamic)
	}
	return min(from, w.low)
}

// raises tells whether an instruction that makes SP unknown takes room back: no compiler makes room so.
func raises(in *cpu.Insn) bool {
	return in.Op == cpu.OpAdd || in.Flags&cpu.FlagConditional != 0 && (in.Op == cpu.OpLoad || in.Op == cpu.OpLoadMulti || in.Op == cpu.OpMove)
}

// maxBound is the largest array that a bound on a register is believed to make: what only the width of a number bounds is open.
const maxBound = 1 << 16

// aligned is the lowest place of SP that an alignment makes of a place. The CFA is a multiple of the ABI's
// alignment.
func (w *walk) aligned(low, align int64) int64 {
	entry, abi := w.code.Arch.EntryCFA, min(int64(w.code.Arch.StackAlign), align)
	cfa := low - entry
	return cfa&-abi - (align - abi) + entry
}

// probes is the place of SP behind the loop of stack probes that a block is: the loop touches the pages down to
// where a register points, which is the lowest place of all. 0: the block is no such loop. A loop that makes room for a variable
// array ends at a place of which nothing is known.
func (w *walk) probes(s *dataflow.Step) int64 {
	at := s.Addr
	var in cpu.Insn
	for range maxProbe {
		if !w.code.One(at, &in) {
			return 0
		}
		if disasm.Transfers(&in, w.code.Arch) {
			break
		}
		at.PC += uint64(in.Len)
	}
	if _, ok := disasm.Probes(w.code.Code, &in, at.PC); !ok || in.Target != s.PC {
		return 0
	}
	low := int64(0)
	for r := range w.code.Arch.Regs {
		if v := s.Before.Regs[r]; cpu.Reg(r) != w.sp && v.RelativeTo(w.sp) {
			low = min(low, v.Off)
		}
	}
	if low >= w.lowest {
		return 0
	}
	return low
}

// maxProbe bounds the instructions of a loop of stack probes.
const maxProbe = 8

// writes is the lowest place that an instruction writes, or whose address it computes, where SP stands at low: the
// red zone, which code of the same function may write through the address.
func (w *walk) writes(s *dataflow.Step, low int64) int64 {
	at, in := low, s.In
	switch in.Op {
	case cpu.OpStore, cpu.OpStoreMulti:
		direct := *in
		direct.Index = cpu.NoReg
		if v := s.Before.Operand(&direct); v.RelativeTo(w.sp) {
			at = min(at, v.Off)
		}
	case cpu.OpAddImm, cpu.OpSub:
		if v := s.After.Get(in.Dst); in.Dst != w.sp && in.Dst != cpu.NoReg && v.RelativeTo(w.sp) {
			at = min(at, v.Off)
		}
	}
	return max(at, low-redZone)
}

// redZone is how far below SP the System V ABI for AMD64 lets a function write; other ABIs have less.
const redZone = 128

// most keeps how large registers may be, within a block.
type most struct {
	known cpu.RegSet
	at    [cpu.MaxRegs]int64
}

func (m *most) reset() { m.known = 0 }

// of is the largest number that a register may hold.
func (m *most) of(r cpu.Reg, st *absint.State) (int64, bool) {
	if v := st.Get(r); v.Kind == absint.Constant && v.Base != absint.FromWritable && v.Off >= 0 {
		return v.Off, true
	}
	if r == cpu.NoReg || !m.known.Has(r) {
		return 0, false
	}
	return m.at[r], true
}

// step takes in what an instruction says: a mask, a byte or a half that is loaded, and what is added to or shifted.
func (m *most) step(s *dataflow.Step, arch *cpu.Arch) {
	in := s.In
	v, ok := m.result(in, s.Before, arch)
	for set := m.known; set != 0; set = set.Without(set.First()) {
		if in.Writes(set.First()) || in.Op == cpu.OpCall {
			m.known = m.known.Without(set.First())
		}
	}
	if ok && in.Dst < cpu.MaxRegs && in.Flags&cpu.FlagConditional == 0 && v >= 0 && v < maxBound {
		m.known = m.known.With(in.Dst)
		m.at[in.Dst] = v
	}
}

func (m *most) result(in *cpu.Insn, st *absint.State, arch *cpu.Arch) (int64, bool) {
	src, known := m.of(in.Src, st)
	switch in.Op {
	case cpu.OpAndImm:
		if in.Imm >= 0 && (!known || in.Imm < src) {
			return in.Imm, true
		}
		return src, known
	case cpu.OpLoad:
		return 1<<(8*(in.Size&7)) - 1, (in.Size == 1 || in.Size == 2) && in.Flags&cpu.FlagSigned == 0 && in.Dst2 == cpu.NoReg
	case cpu.OpMove:
		return src, known
	case cpu.OpAddImm:
		return src + in.Imm, known && in.Imm >= 0
	case cpu.OpShlImm:
		return src << (in.Imm & 31), known && in.Imm < 31
	case cpu.OpShrImm:
		return src >> (in.Imm & 63), known
	case cpu.OpAdd:
		other, ok := m.of(in.Src2, st)
		return src + other<<(in.Scale&7), known && ok && in.Flags&cpu.FlagSigned == 0
	}
	return 0, false
}
