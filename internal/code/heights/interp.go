package heights

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// interp executes instructions on states.
type interp struct {
	arch        *cpu.Arch
	slotSize    int        // that of a saved register, in bytes
	callerSaved cpu.RegSet // what a call clobbers
	tracked     cpu.RegSet // what states tell of: the preserved registers, LR and SP
	unused      cpu.RegSet // what these hold on entry no function uses
	// pointers are the registers that may hold pointers into the frame. refused: another
	// preserved register would have been one.
	pointers cpu.RegSet
	refused  bool
}

func newInterp(c disasm.Code) interp {
	a := c.Arch
	tracked := a.Preserved.With(a.LR).With(a.SP)
	return interp{arch: a, slotSize: a.RegSize, callerSaved: c.CallerSaved(),
		tracked: tracked, unused: a.Preserved &^ a.Globals}
}

// exec executes an instruction's effects other than a transfer of control. It reports false where
// a state cannot hold the outcome: SP is no longer SP on entry plus a constant.
func (m *interp) exec(s *state, in *cpu.Insn) bool {
	switch in.Op {
	case cpu.OpNop, cpu.OpTrap, cpu.OpJump:
		return true
	case cpu.OpClobber, cpu.OpSyscall:
		s.lose(in.List)
		return !in.List.Has(m.arch.SP)
	case cpu.OpConst, cpu.OpInsert, cpu.OpAdd, cpu.OpAddLoad, cpu.OpSub, cpu.OpOrImm, cpu.OpAndImm, cpu.OpShlImm, cpu.OpShrImm, cpu.OpOr, cpu.OpCompareImm:
		return m.write(s, in.Dst)
	case cpu.OpMove:
		return in.Dst == in.Src || m.add(s, in.Dst, in.Src, 0)
	case cpu.OpAddImm:
		if in.Flags&cpu.FlagWord32 != 0 && m.arch.AddrSize != 4 {
			return m.write(s, in.Dst)
		}
		return m.add(s, in.Dst, in.Src, in.Imm)
	case cpu.OpStore, cpu.OpLoad, cpu.OpStoreMulti, cpu.OpLoadMulti:
		return m.access(s, in)
	case cpu.OpLeave:
		return m.leave(s)
	case cpu.OpCall: // that reads the PC
		return in.Dst == cpu.NoReg && m.push(s)
	}
	return false
}

// write gives a register a value of which nothing is known.
func (m *interp) write(s *state, dst cpu.Reg) bool {
	s.lose(cpu.SetOf(dst))
	return dst != m.arch.SP
}

// maxHeight bounds heights, so that sums of a few fit into 32 bits. No frame has 256 MiB.
const maxHeight = 1 << 28

// add is dst = src + imm.
func (m *interp) add(s *state, dst, src cpu.Reg, imm int64) bool {
	known := s.pointers.Has(src)
	height := int64(0)
	if known {
		height = int64(s.height[src]) + imm
		known = height > -maxHeight && height < maxHeight
	}
	if !known || !m.pointers.Has(dst) {
		m.refused = m.refused || known && m.arch.Preserved.Has(dst)
		return m.write(s, dst)
	}
	s.kept = s.kept.Without(dst)
	s.pointers, s.height[dst] = s.pointers.With(dst), int32(height)
	return true
}

// push executes the push of a value that states do not tell of: call +0 of i386.
func (m *interp) push(s *state) bool {
	sp := m.arch.SP
	s.height[sp] -= int32(m.slotSize)
	s.store(s.height[sp], cpu.NoReg, uint8(m.slotSize), m.slotSize)
	return true
}

// leave executes x86's leave: SP = FP; FP = mem[SP]; SP += word.
func (m *interp) leave(s *state) bool {
	fp := m.arch.FP
	if !s.pointers.Has(fp) {
		return false
	}
	at := s.height[fp]
	s.load(at, fp, uint8(m.slotSize), m.slotSize)
	s.height[m.arch.SP] = at + int32(m.slotSize)
	return true
}

// undone tells whether everything is as on entry but the return address, of which the
// caller of this method knows.
func (m *interp) undone(s *state) bool {
	return s.height[m.arch.SP] == 0 && m.arch.Preserved&^s.kept == 0
}

// leavable tells whether all is as on entry: a jump elsewhere is a tail call then.
func (m *interp) leavable(s *state) bool {
	return m.undone(s) && (m.arch.CallPushesRA || s.kept.Has(m.arch.LR))
}
