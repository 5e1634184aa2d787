//go:build !small

package backsight

import (
	"context"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/locals"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/study"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// maxWithVariables bounds the frames of a thread whose variables are read. Nobody reads those
// of the thousandth call of a recursion.
const maxWithVariables = 256

// Variables reads the arguments and local variables of a report's frames out of the debug
// information of their binaries, into the report. It walks the stacks once more, for the
// registers of each frame. It stops when ctx ends.
func (u *Unwinder) Variables(ctx context.Context, r *report.Report, names *symbol.Symbolizer) {
	if r.Snapshot == nil {
		return
	}
	release, err := hold(r.Snapshot)
	if err != nil {
		r.Issues = append(r.Issues, unread(err)...)
		return
	}
	defer release()
	for i := range r.Threads {
		if ctx.Err() != nil {
			return
		}
		th := &r.Threads[i]
		snap := r.Snapshot.Of(th.Thread)
		fault := mapped.Guard(func() { u.variables(ctx, snap, th, names) })
		r.Issues = append(r.Issues, unread(study.Blame(snap, fault))...)
	}
}

func (u *Unwinder) variables(ctx context.Context, snap *target.Snapshot, th *report.Thread, names *symbol.Symbolizer) {
	regs, walked := u.frameRegisters(snap, th)
	var entered locals.Entered // of the frame, from its caller, so that callers come first
	for i := len(th.Frames) - 1; i >= 0; i-- {
		f, k := &th.Frames[i], th.Repeats.Number(i)
		if k >= min(len(regs), len(walked)) {
			continue
		}
		if !f.HasCFA && walked[k].HasCFA { // the report's limit is at this frame
			f.CFA, f.HasCFA = walked[k].CFA, true
		}
		pc, known := regs[k].Lookup(snap.Arch.PC)
		if ctx.Err() != nil || f.Module == nil || f.Module.Image == nil || known && !sameCode(snap.Arch, pc, f.PC) {
			entered = nil
			continue
		}
		at := locals.Place{Snapshot: snap, Frame: f, Registers: &regs[k], PC: lookedUp(snap.Arch, f.Frame), Entered: entered}
		f.Detailed().Variables = locals.Of(names, &at)
		entered = nil
		if calls(f.Frame) {
			entered = locals.Passed(names, &at, f.Module.ToImage(f.PC))
		}
	}
}

// calls tells whether the call that a frame waits for goes straight to the function of the next
// frame further in.
func calls(f *unwind.Frame) bool {
	return f.Trust == unwind.Certain && f.Checks&unwind.TargetMatches != 0 && f.Checks&unwind.TargetUnclear == 0
}

// sameCode compares two addresses of code without the bits that tell the instruction set.
func sameCode(arch *cpu.Arch, a, b uint64) bool {
	a, _ = arch.SplitCode(a)
	b, _ = arch.SplitCode(b)
	return a == b
}

// frameRegisters are the registers of a thread's frames, and the frames walked one frame further, so
// that the last frame has a CFA as well.
func (u *Unwinder) frameRegisters(snap *target.Snapshot, th *report.Thread) ([]cpu.Registers, []unwind.Frame) {
	n := min(th.Count(), maxWithVariables)
	if n == 0 {
		return nil, nil
	}
	opt := u.WalkerOptions()
	opt.MaxFrames, opt.Fold = n+1, false
	regs := make([]cpu.Registers, n)
	opt.Registers = func(frame int, r *cpu.Registers) {
		if frame < len(regs) {
			regs[frame] = *r
		}
	}
	frames, _ := stackwalk.NewWalker(snap, opt).Walk(th.Thread, nil)
	return regs, frames
}
