package stackuse

import (
	"github.com/backsight/backsight/cpu"
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
	case in.Op == cpu.OpAndImm && alignment(in.Imm):
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

// alignment tells whether a mask clears low bits alone.
func alignment(mask int64) bool { return mask < 0 && -mask&(-mask-1) == 0 }

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

// writes is the lowest place that an instruction writes, where SP stands at low; where the ABI has a red zone, also one whose address the
// instruction computes: code of the same function may write there through the address.
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
		if v := s.After.Get(in.Dst); in.Dst != w.sp && in.Dst != cpu.NoReg && v.RelativeTo(w.sp) && w.hasRedZone() {
			at = min(at, v.Off)
		}
	}
	return max(at, low-redZone)
}

// redZone is how far below SP the ABIs of AMD64 and of Apple's AArch64 let a function write; others let no function do so.
const redZone = 128

func (w *walk) hasRedZone() bool {
	arch, system := w.code.Arch, w.code.Img.System
	return arch.AddrSize == 8 && (arch.CallPushesRA && system != "windows" || system == "darwin")
}
