package lint

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/stepping"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/unwind"
)

// worker compares functions one after another.
type worker struct {
	img       *image.Image
	code      *code.Source
	reference stackwalk.RuleSource
	sweep     Sweep
	sp        Pointer
	anchored  Anchored
	f         Function
	entry     uint64 // the function's first instruction
	q         stackwalk.Query
	table     stackwalk.Rule
	answer    stackwalk.Rule
	counts    Report
}

// function compares at every instruction of one range.
func (w *worker) function(f Function) {
	lo, mode := Mode(w.img, w.img, w.code, f.Lo)
	w.f, w.entry = f, lo
	w.counts.Functions++
	run := func(visit func(uint64, cpu.Mode, stepping.Step)) { w.sweep.Run(lo, f.Hi, mode, w.entryMode, visit) }
	w.sp, w.anchored = Pointer{}, Anchor(w.img.Arch, run)
	padding, behind := false, uint64(0) // behind: the address behind the delay slot of the instruction before
	run(func(pc uint64, mode cpu.Mode, step stepping.Step) {
		in, slot := step.In, pc < behind
		padding = padding && (slot || in.Flags&cpu.FlagPadding != 0 || w.sweep.FallsOut(in, pc, f.Hi)) // slot: the return's delay slot
		if !slot && !padding && !w.sweep.Unreachable(in, pc, f.Hi) {
			w.instruction(pc, mode, step)
		}
		w.sp.Step(w.img.Arch, in)
		behind = step.Next
		padding = padding || in.Ends(w.img.Arch.PC)
	})
}

// entryMode is the mode of a function that begins at pc, inside a range: EHABI's are merged where
// neighbours have equal tables.
func (w *worker) entryMode(pc uint64) (cpu.Mode, bool) {
	if w.img.Arch.ModeOnly || w.reference.Method() != unwind.MethodEHABI {
		return 0, false
	}
	return w.code.EntryMode(w.img, pc)
}

// instruction compares in front of an instruction and, if that is a call, while the call is running.
// Tables other than CFI describe frames at their calls only.
func (w *worker) instruction(pc uint64, mode cpu.Mode, step stepping.Step) {
	in, next := step.In, step.Next
	call := in.Op == cpu.OpCall && in.Flags&cpu.FlagGetPC == 0
	w.q = stackwalk.Query{Image: w.img, Arch: w.img.Arch, PC: pc, Resume: pc, Mode: mode, Exact: true}
	if w.reference.Method() == unwind.MethodCFI {
		hi := pc + uint64(in.Len)
		if call {
			hi = pc + 1
		}
		w.place(pc, hi)
	}
	if !call {
		return
	}
	w.q.PC, w.q.Resume, w.q.Exact = next-1, next, false
	w.place(pc+1, next)
}

// place compares for the bytes from lo up to hi.
func (w *worker) place(lo, hi uint64) {
	w.table.Reset()
	switch w.reference.Rule(&w.q, &w.table) {
	case unwind.Found:
	case unwind.NotCovered:
		return
	default:
		w.counts.Unreadable++
		return
	}
	w.counts.Places++
	if w.q.Exact {
		w.sp.See(w.img.Arch, &w.table)
	}
	if w.table.RA.Kind == stackwalk.Undefined || w.table.Flags&stackwalk.SignalFrame != 0 {
		return // the outermost frame, and what no caller has called
	}
	f := Finding{Lo: lo, Hi: hi, Function: w.f.Lo}
	for _, right := range [...]func(*Finding) stackwalk.Answer{w.returns, w.analysed, w.stepped} {
		switch right(&f) {
		case stackwalk.Yes:
			return
		case stackwalk.No:
			f.Table = w.table.Format(w.img.Arch)
			w.add(f)
			return
		}
	}
	w.counts.Open++
}

// returns tells whether the CFA is where the ways to a return have it.
func (w *worker) returns(f *Finding) stackwalk.Answer {
	v, known := w.anchored.At(w.q.PC)
	switch {
	case !known || !w.q.Exact:
		return stackwalk.Unknown
	case !w.anchored.Denies(w.img.Arch, w.q.PC, &w.table.CFA):
		return stackwalk.Unknown
	}
	f.Evidence, f.Certain, f.Code = Return, true, w.cfa(v)
	return stackwalk.No
}

// analysed tells whether code analysis has the same rule. Where the table's first row is not that of
// an entry, the range is a part of a function, whose beginning code analysis cannot know. One derivation
// alone counts as far as no jump is on the way: behind a call that never returns (__stack_chk_fail) stands
// what other code jumps to.
func (w *worker) analysed(f *Finding) stackwalk.Answer {
	forward := w.code.FromEntry(&w.q, w.entry, &w.table)
	if forward == stackwalk.Yes { // as nearly everywhere: a search for all that may hold costs a hundred times as much
		return stackwalk.Yes
	}
	w.answer.Reset()
	if w.code.Rule(&w.q, &w.answer) != unwind.Found {
		return stackwalk.Unknown
	}
	rel := w.code.Compare(&w.q, w.entry, &w.table, &w.answer)
	const both = stackwalk.FromEntry | stackwalk.Agreed
	switch flags := w.answer.Flags; {
	case flags&both == both && forward == stackwalk.No:
		f.Certain = true
	case rel.CFA == stackwalk.Unknown || rel.RA == stackwalk.Unknown:
		return stackwalk.Unknown
	case rel.CFA == stackwalk.Yes && rel.RA == stackwalk.Yes:
		return stackwalk.Yes
	case flags&both == both:
		f.Certain = true
	case flags&stackwalk.FromEntry == 0 || flags&stackwalk.Straight == 0 || flags&(stackwalk.Inferred|stackwalk.Fallback) != 0 || !w.fromEntry():
		return stackwalk.Unknown
	}
	f.Evidence, f.Code = Analysis, w.answer.Format(w.img.Arch)
	return stackwalk.No
}

// fromEntry tells whether the table's range is a whole function, and control comes from its first
// instruction to the place.
func (w *worker) fromEntry() bool {
	if w.reference.Method() == unwind.MethodCFI && !entered(w.reference, w.img, w.entry) {
		return false
	}
	return w.code.Covers(&w.q, w.entry)
}

// stepped tells whether the row stays where SP moves, unless the way to a return has the row's CFA.
func (w *worker) stepped(f *Finding) stackwalk.Answer {
	if _, known := w.anchored.At(w.q.PC); known || !w.q.Exact || !w.sp.Denied {
		return stackwalk.Unknown
	}
	f.Evidence, f.Code = Step, w.cfa(w.sp.due)
	return stackwalk.No
}

// cfa is a CFA relative to SP, as rules are written.
func (w *worker) cfa(off int64) string {
	r := stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: w.img.Arch.SP, Off: off}
	return "CFA=" + r.Format(w.img.Arch)
}

// add appends a finding, or makes the last finding longer: neighbouring instructions where the table is
// wrong in the same way are one finding.
func (w *worker) add(f Finding) {
	if n := len(w.counts.Findings); n > 0 {
		last := &w.counts.Findings[n-1]
		joined := *last
		joined.Lo, joined.Hi = f.Lo, f.Hi
		if last.Hi == f.Lo && joined == f {
			last.Hi = f.Hi
			return
		}
	}
	w.counts.Findings = append(w.counts.Findings, f)
}
