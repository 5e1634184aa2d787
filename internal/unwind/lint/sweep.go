package lint

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stepping"
	"github.com/backsight/backsight/internal/unwind/code"
)

// Sweep goes through the instructions of a range in order. Where mapping symbols
// tell what is data and in which mode the code is, they decide; else the words that
// code reads relative to the PC are data, and so is what follows a table jump, up to
// the nearest place that the table leads to.
type Sweep struct {
	Image   *image.Image
	Mapping Mapping
	data    map[uint64]uint64 // size by address
	base    base
	insns   [64]cpu.Insn
}

// Run visits the instructions of [pc, hi), each with what stands in its delay slot, and then the slot.
// entry tells the mode of a function that is known to begin at a place.
func (s *Sweep) Run(pc, hi uint64, mode cpu.Mode, entry func(pc uint64) (cpu.Mode, bool), visit func(pc uint64, mode cpu.Mode, step stepping.Step)) {
	s.data = map[uint64]uint64{}
	for pc < hi {
		limit := hi
		if r, end, ok := s.Mapping.at(pc); ok {
			limit, mode = min(hi, end), r.Mode
			if r.Data {
				pc = limit
				continue
			}
		} else if m, ok := entry(pc); ok {
			mode = m
		}
		n := s.decode(pc, limit, mode)
		if n == 0 {
			pc = max(limit, pc+1)
			continue
		}
		pc = s.visit(pc, mode, n, entry, visit)
	}
}

// visit goes through n decoded instructions; it stops early at data and at entries
// of another mode, and returns where to go on.
func (s *Sweep) visit(pc uint64, mode cpu.Mode, n int, entry func(pc uint64) (cpu.Mode, bool), visit func(pc uint64, mode cpu.Mode, step stepping.Step)) uint64 {
	for i := range n {
		if len(s.Mapping) == 0 {
			if size, ok := s.data[pc]; ok {
				return pc + size
			}
			if m, ok := entry(pc); ok && m != mode {
				return pc
			}
			s.note(&s.insns[i])
		}
		visit(pc, mode, stepping.StepOf(s.insns[i:n], pc))
		pc += uint64(s.insns[i].Len)
	}
	return pc
}

// decode fills insns from pc on, and gives instructions at a full buffer's end back: a transfer
// whose delay slot lies behind, and conditional ones, as the condition of an IT block is with the first of
// the block.
func (s *Sweep) decode(pc, limit uint64, mode cpu.Mode) int {
	code := s.Image.Segments.Code(pc)
	n := s.Image.Arch.Decoder.Decode(code[:min(uint64(len(code)), limit-pc)], pc, mode, s.insns[:])
	if n < len(s.insns) {
		return n
	}
	if last := stepping.StepOf(s.insns[n-1:], 0); last.Cut {
		return n - 1
	}
	if mode == 0 {
		return n
	}
	for k := n; k > 1; k-- {
		if last := &s.insns[k-1]; last.Flags&cpu.FlagConditional == 0 && last.Op != cpu.OpNop {
			return k
		}
	}
	return n
}

// base is the register that was last set to an address, and that.
type base struct {
	reg  cpu.Reg
	addr uint64
}

// note remembers what an instruction tells to be data. Microsoft's compilers put tables of jumps behind the function, of places relative to
// the file's base:
//
//	lea r9,[base]; mov eax,[r9+r8*4+table]; add rax,r9; jmp rax
func (s *Sweep) note(in *cpu.Insn) {
	switch {
	case in.Op == cpu.OpConst:
		s.base = base{in.Dst, uint64(in.Imm)}
	case in.Op == cpu.OpLoad && in.Index != cpu.NoReg && in.Base == s.base.reg && in.Size == 4:
		if at := s.base.addr + uint64(in.Imm); s.Image.Segments.Executable(at) {
			s.table(at, 4, s.base.addr, 0)
		}
	case in.Base != cpu.NoReg:
	case in.Op == cpu.OpLoad && in.Index == cpu.NoReg:
		s.data[uint64(in.Imm)] = uint64(in.Size)
	case in.Op == cpu.OpJump && in.Flags&cpu.FlagTable != 0 && in.Size != 0:
		s.table(uint64(in.Imm), in.Size, in.Target, 1)
	case in.Op == cpu.OpLoad && in.Dst == s.Image.Arch.PC && in.Index != cpu.NoReg:
		s.table(uint64(in.Imm), in.Size, 0, 0)
	}
}

// table notes the elements at a place: they end where the nearest target is, or where one leads to no code.
func (s *Sweep) table(at uint64, size uint8, rel uint64, shift uint) {
	const reach = 1 << 16
	end := at + reach
	for a := at; a < end; a += uint64(size) {
		v, ok := s.Image.Uint(a, int(size))
		if !ok {
			return
		}
		to := v<<shift + rel
		if !s.Image.Segments.Executable(to) {
			return
		}
		if to > at {
			end = min(end, to)
		}
		s.data[a] = uint64(size)
	}
}

// Unreachable tells whether an instruction is filler in front of data or of the
// range's end: behind a call that never returns.
func (s *Sweep) Unreachable(in *cpu.Insn, pc, hi uint64) bool {
	if in.Flags&cpu.FlagPadding == 0 {
		return false
	}
	next := pc + uint64(in.Len)
	if r, _, ok := s.Mapping.at(next); ok {
		return r.Data || next >= hi
	}
	return s.data[next] != 0 || next >= hi
}

// FallsOut tells whether control would run from an instruction into data or over the end of a range. Behind a return such an instruction is
// filler: MSVC puts svc #3 behind funclets of ARM64.
func (s *Sweep) FallsOut(in *cpu.Insn, pc, hi uint64) bool {
	next := pc + uint64(in.Len)
	return (next >= hi || s.data[next] != 0) && in.Op != cpu.OpCall && in.Op != cpu.OpJump && !in.Ends(s.Image.Arch.PC)
}

// Mode is where a table's function begins, without mode bit, and the mode of its code, which tables do
// not tell: that of the symbol; else that in which the code of view, an image of the same addresses,
// calls the function, or its data points there; else that of the program's entry.
func Mode(img, view *image.Image, analysis *code.Source, lo uint64) (uint64, cpu.Mode) {
	arch := img.Arch
	lo, mode := arch.SplitCode(lo)
	if !arch.ISABit || arch.ModeOnly {
		return lo, mode
	}
	if s, ok := img.Symbols.At(lo); ok && s.Addr == lo {
		return lo, s.Mode
	}
	if m, ok := analysis.EntryMode(view, lo); ok {
		return lo, m
	}
	if m, ok := code.PointedMode(analysis, view, lo); ok {
		return lo, m
	}
	if img.Entry != 0 && mode == 0 {
		_, mode = arch.SplitCode(img.Entry)
	}
	return lo, mode
}
