package stackuse

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
)

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
		if alignment(in.Imm) {
			src &= in.Imm
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

// masks keeps which registers hold an aligned place of the stack, within a block. So do handlers for ARM that GCC compiles align
// their stack (attribute interrupt):
//
//	mov r0,sp; bic r1,r0,#7; mov sp,r1; push {r0,lr}
type masks struct {
	known cpu.RegSet
	at    [cpu.MaxRegs]int64
}

func (m *masks) reset() { m.known = 0 }

// of is the place to which an instruction moves SP; false where the register holds none.
func (m *masks) of(in *cpu.Insn) (int64, bool) {
	if in.Op != cpu.OpMove || !m.known.Has(in.Src) {
		return 0, false
	}
	return m.at[in.Src], true
}

// step takes in what an instruction says.
func (m *masks) step(s *dataflow.Step, w *walk) {
	in := s.In
	if in.Dst < cpu.MaxRegs {
		m.known = m.known.Without(in.Dst)
	}
	if in.Op != cpu.OpAndImm || !alignment(in.Imm) || in.Dst >= cpu.MaxRegs || in.Flags&cpu.FlagConditional != 0 {
		return
	}
	if low, known := w.place(s.Before.Get(in.Src)); known {
		m.known = m.known.With(in.Dst)
		m.at[in.Dst] = w.aligned(low, -in.Imm)
	}
}
