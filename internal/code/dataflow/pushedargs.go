package dataflow

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// spWithoutArguments is the highest place of SP between two calls: the end of the frame without the outgoing
// arguments. These are pushed for calls and dropped behind them, often for several calls at once (GCC's
// -fdefer-pop). Compilers for i386 push arguments, so that SP
// differs from call to call; the call frame information tells the runtime by how much
// (DW_CFA_GNU_args_size).
//
//	83 ec 0c        sub  $0xc,%esp
//	50              push %eax
//	e8 94 07 00 00  call f
//	83 c4 10        add  $0x10,%esp     here SP is where a landing pad has it
//	8d 4c 24 0c     lea  0xc(%esp),%ecx
//	e8 30 fe ff ff  call g
//
// The frame is whole at the first call already, unless that only reads the PC. Where no call returns, nothing
// drops arguments, and the blocks that end with calls begin without them.
func spWithoutArguments(f *Function) (highest absint.Value, ok bool) {
	arch := f.an.Arch
	start := absint.StartOf(arch.SP)
	left := leftBehindCalls(f)
	for _, b := range f.blocks {
		if b.sp == start && b.start != f.Entry.PC || !b.sp.RelativeTo(arch.SP) {
			continue
		}
		run := runThrough(f, &f.interp, b)
		if !run.calls {
			continue
		}
		sp := higher(run.rises, run.sp)
		if b.afterCall == 0 && b.sp != start && (slices.Contains(left, b.sp) || f.BehindCalls == "") {
			sp = higher(sp, b.sp)
		}
		if sp.RelativeTo(arch.SP) && sp.Off < 0 && (!ok || sp.Off > highest.Off) {
			highest, ok = sp, true
		}
	}
	return highest, ok
}

// leftBehindCalls are the places of SP at the ends of blocks behind calls: the arguments are dropped
// there, and the next call may stand behind a branch.
func leftBehindCalls(f *Function) (left []absint.Value) {
	for _, b := range f.blocks {
		if b.afterCall == 0 {
			continue
		}
		if sp := runThrough(f, &f.interp, b).sp; !slices.Contains(left, sp) && len(left) < maxLeft {
			left = append(left, sp)
		}
	}
	return left
}

// maxLeft bounds the places of SP that are told apart.
const maxLeft = 32

// blockRun is what SP does in a block: where it is before the transfer at the end, and the highest place
// that it rises to.
type blockRun struct {
	sp, rises absint.Value
	calls     bool // the block ends with a call
}

// runThrough executes a block up to its transfer. Right behind a call that popped arguments SP is
// too high (call; sub $0x4,%esp), so that only places count that SP rises to.
func runThrough(f *Function, m *absint.Interp, b *block) (r blockRun) {
	var st absint.State
	b.in.Decode(&st)
	sp := f.an.Arch.SP
	cur := disasm.NewCursor(f.an.Code)
	cur.Seek(b.addr())
	for pc := b.start; pc < b.end; {
		in := cur.Next(pc)
		if in == nil {
			break
		}
		if disasm.Transfers(in, f.an.Arch) {
			r.calls = in.Op == cpu.OpCall && !disasm.CallReadsPC(f.an.Code, in)
			break
		}
		before := st.Regs[sp]
		m.Exec(&st, in, pc)
		if v := st.Regs[sp]; v.RelativeTo(sp) && v.Off > before.Off {
			r.rises = higher(r.rises, v)
		}
		pc += uint64(in.Len)
	}
	r.sp = st.Regs[sp]
	return r
}

// higher is the higher of two places, the second if the first is none.
func higher(a, b absint.Value) absint.Value {
	if a.Kind == b.Kind && a.Off > b.Off {
		return a
	}
	return b
}
