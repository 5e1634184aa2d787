package diff

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// maxFollowed bounds the instructions that contradicted follows.
const maxFollowed = 64

// contradicted tells whether the table contradicts itself about the place of w.q:
// control goes from there, without a change of SP, to a place of the same range
// where the table states another distance from SP to the CFA. glibc's system calls
// have such tables on MIPS64: behind the function's return the rows go on with the
// undone frame, and the error path that stands there jumps back into the frame.
//
//	12000de70  daddiu sp,sp,32     CFA=sp+32, then sp+0 to the end of the range
//	12000de74  nop                 CFA=sp      reached with the frame in place …
//	12000de8c  b      12000de60    CFA=sp
//	12000de60  ld     ra,24(sp)    CFA=sp+32   … as the table says itself
func (w *worker) contradicted() bool {
	arch := w.own.Arch
	if !w.q.Exact || w.table.CFA.Kind != unwind.RegPlus || w.table.CFA.Base != arch.SP {
		return false
	}
	var r unwind.Rule
	q := w.q
	q.Image = w.own
	for range maxFollowed {
		next, ok := w.follow(q.PC, q.Mode)
		if !ok || next < w.f.lo || next >= w.f.hi {
			return false
		}
		q.PC, q.Resume = next, next
		r.Reset()
		if w.reference.Rule(&q, &r) == unwind.Found && r.CFA.Kind == unwind.RegPlus && r.CFA.Base == arch.SP && r.CFA.Off != w.table.CFA.Off {
			return true
		}
	}
	return false
}

// follow is where control goes from one instruction, if it leaves SP alone and
// goes to one place (a branch that is not taken counts; so does a call, which
// gives SP back where it does not pop its arguments).
func (w *worker) follow(pc uint64, mode cpu.Mode) (uint64, bool) {
	arch := w.own.Arch
	var buf [2]cpu.Insn
	n := arch.Decoder.Decode(w.own.Code(pc), pc, mode, buf[:])
	in := &buf[0]
	if n == 0 || movesSP(in, arch.SP) || in.Op == cpu.OpCall && arch.LR == cpu.NoReg {
		return 0, false
	}
	next := pc + uint64(in.Len)
	if in.Flags&cpu.FlagDelaySlot != 0 {
		if n < 2 || movesSP(&buf[1], arch.SP) {
			return 0, false
		}
		next += uint64(buf[1].Len)
	}
	if !in.Ends(arch.PC) {
		return next, true
	}
	return in.Target, in.Op == cpu.OpJump && in.Target != 0 && in.TargetMode == mode
}

func movesSP(in *cpu.Insn, sp cpu.Reg) bool {
	return in.Dst == sp || in.Dst2 == sp || in.List.Has(sp) || in.Op == cpu.OpLeave || in.Base == sp && in.WB != 0 || in.Op == cpu.OpReturn
}
