package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// AnalyzePads analyses the function with landing pads as further ways in. The runtime
// enters them with the registers that calls preserve and with SP where it is when no
// arguments of a call lie on the stack.
func (f *Function) AnalyzePads(at []disasm.Addr) *Function {
	p := &landingPads{at: at}
	f.BehindCalls.Decode(&p.st)
	arch := f.an.Arch
	switch {
	case !arch.CallPushesRA:
	case p.st.Get(arch.FP).RelativeTo(arch.SP):
		p.st.Set(arch.SP, absint.Value{}, arch) // the frame pointer tells
	default:
		if sp, ok := restingSP(f); ok {
			p.st.Set(arch.SP, sp, arch)
		}
	}
	return f.an.analyze(f.Entry, p)
}

// restingSP is the highest place of SP on the way from one call to the next: the frame
// without the arguments that are pushed for calls and dropped behind them, often all at
// once for several (GCC's -fdefer-pop). Compilers for i386 push arguments, so that SP
// differs from call to call; the call frame information tells the runtime by how much
// (DW_CFA_GNU_args_size).
//
//	83 ec 0c        sub  $0xc,%esp
//	50              push %eax
//	e8 94 07 00 00  call f
//	83 c4 10        add  $0x10,%esp     here SP is where a landing pad has it
//	8d 4c 24 0c     lea  0xc(%esp),%ecx
//	e8 30 fe ff ff  call g
func restingSP(f *Function) (highest absint.Value, ok bool) {
	var st absint.State
	arch := f.an.Arch
	start := absint.StartOf(arch.SP)
	for _, b := range f.blocks {
		if b.sp == start || !b.sp.RelativeTo(arch.SP) {
			continue
		}
		sp := highestBeforeCall(f, b, &st)
		if sp.RelativeTo(arch.SP) && sp.Off < 0 && (!ok || sp.Off > highest.Off) {
			highest, ok = sp, true
		}
	}
	return highest, ok
}

// highestBeforeCall is the highest place that SP comes to in a block that ends with a call,
// or has there; no value where the block ends otherwise, or SP is not known. Right behind
// a call that popped arguments SP is too high (call; sub $0x4,%esp).
func highestBeforeCall(f *Function, b *block, st *absint.State) absint.Value {
	b.in.Decode(st)
	sp := f.an.Arch.SP
	var rises absint.Value
	cur := disasm.NewCursor(f.an.Code)
	cur.Seek(b.addr())
	for pc := b.start; pc < b.end; {
		in := cur.Next(pc)
		if in == nil {
			break
		}
		if disasm.Transfers(in, f.an.Arch) {
			if in.Op != cpu.OpCall {
				break
			}
			return higher(rises, st.Regs[sp])
		}
		before := st.Regs[sp]
		f.interp.Exec(st, in, pc)
		if v := st.Regs[sp]; v.RelativeTo(sp) && v.Off > before.Off {
			rises = higher(rises, v)
		}
		pc += uint64(in.Len)
	}
	return absint.Value{}
}

// higher is the higher of two places, the second if the first is none.
func higher(a, b absint.Value) absint.Value {
	if a.Kind == b.Kind && a.Off > b.Off {
		return a
	}
	return b
}

// Undefines tells whether a preserved register is overwritten on some way and kept nowhere, as
// in no function: clang's landing pads for i386 begin with mov %eax,%esi.
func Undefines(f *Function) bool {
	var st absint.State
	for _, b := range f.blocks {
		b.in.Decode(&st)
		for s := f.an.Arch.Preserved; s != 0; s = s.Without(s.First()) {
			if r := s.First(); !st.Regs[r].IsStartOf(r) && !st.Holds(absint.StartOf(r)) {
				return true
			}
		}
	}
	return false
}

// Within tells whether all code of f lies near code of o: where both are parts of one
// function, the one jumps into the other.
func Within(f, o *Function) bool {
	for _, b := range f.blocks {
		if !o.Enters(b.start) {
			return false
		}
	}
	return true
}

// EndFrom is the end of the run of a function's blocks around an address, padding in front
// of the targets of jumps included, and the tables and literals among them.
func EndFrom(f *Function, pc uint64) uint64 {
	end := pc
	_, i := f.blocks.at(pc)
	for _, b := range f.blocks[i:] {
		if b.start > end {
			padded := f.SkipData(disasm.Addr{PC: end, Mode: b.mode})
			if b.start > padded {
				break // blocks are sorted: none of those behind closes the gap
			}
			if b.start < padded {
				continue
			}
		}
		end = max(end, b.end)
	}
	return end
}
