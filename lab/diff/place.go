package diff

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/stepping"
	"github.com/backsight/backsight/internal/unwind/lint"
	"github.com/backsight/backsight/unwind"
)

// function compares at every instruction of one range.
func (w *worker) function(f lint.Function) {
	w.f = f
	lo, mode := lint.Mode(w.own, w.view, w.code, f.Lo)
	padding, behind := false, uint64(0) // behind: the address behind the delay slot of the instruction before
	called := false                     // the instruction before is a call
	w.sp = lint.Pointer{}
	clear(w.related)
	w.anchored = lint.Anchor(w.own.Arch, func(visit func(uint64, cpu.Mode, stepping.Step)) { w.sweep.Run(lo, f.Hi, mode, w.entryMode, visit) })
	w.sweep.Run(lo, f.Hi, mode, w.entryMode, func(pc uint64, mode cpu.Mode, step stepping.Step) {
		in, slot := step.In, pc < behind
		padding = padding && (slot || in.Flags&cpu.FlagPadding != 0 || w.sweep.FallsOut(in, pc, f.Hi)) // slot: the return's delay slot
		trapped := called && in.Op == cpu.OpTrap                                                       // the call never returns
		if !slot && !padding && !trapped && !w.sweep.Unreachable(in, pc, f.Hi) {
			w.place(pc, mode, step)
		}
		called = in.Op == cpu.OpCall
		w.sp.Step(w.own.Arch, in)
		behind = step.Next
		if in.Ends(w.own.Arch.PC) {
			padding = true
		}
	})
}

// entryMode is the mode of a function that begins at pc, inside a range: EHABI's
// are merged where neighbours have equal tables.
func (w *worker) entryMode(pc uint64) (cpu.Mode, bool) {
	if w.own.Arch.ModeOnly || w.Reference != unwind.MethodEHABI {
		return 0, false
	}
	return w.code.EntryMode(w.view, pc)
}

// place compares in front of an instruction, and behind it if it is a call.
func (w *worker) place(pc uint64, mode cpu.Mode, step stepping.Step) {
	in, after := step.In, step.Next
	arch := w.own.Arch
	w.q = stackwalk.Query{Image: w.own, Arch: arch, PC: pc, Resume: pc, Mode: mode, Exact: true}
	if w.Reference == unwind.MethodCFI { // the others describe frames at their calls only
		w.compare(w.situation)
	}
	if in.Op != cpu.OpCall || in.Flags&cpu.FlagGetPC != 0 {
		return
	}
	w.q.PC, w.q.Resume, w.q.Exact = after-1, after, false
	w.compare(func() Situation { return Resumed })
}

// situation classifies a place by the table's rule for it.
func (w *worker) situation() Situation {
	arch := w.own.Arch
	r := &w.table
	switch {
	case w.q.PC == w.f.Lo:
		return Entry
	case r.CFA.Kind == stackwalk.RegPlus && r.CFA.Base == arch.SP && r.CFA.Off == arch.EntryCFA &&
		(arch.CallPushesRA || r.RA.Kind == stackwalk.RegPlus):
		return Bare
	}
	return Framed
}

// compare asks both and counts the outcome.
func (w *worker) compare(situation func() Situation) {
	w.q.Image = w.own
	w.table.Reset()
	switch w.reference.Rule(&w.q, &w.table) {
	case unwind.Found:
	case unwind.NotCovered:
		return
	default:
		w.Unreadable++
		return
	}
	if w.q.Exact {
		w.sp.See(w.own.Arch, &w.table)
	}
	if w.sp.Denied || w.q.Exact && w.anchored.Denies(w.own.Arch, w.q.PC, &w.table.CFA) {
		w.Denied++
		return
	}
	t := &w.By[situation()]
	t.Places++
	w.q.Image = w.view
	w.answer.Reset()
	switch w.subject.Rule(&w.q, &w.answer) {
	case unwind.Found:
		w.judge(t, situation())
	case unwind.EndOfStack:
		// _start, which no capture resumes in, and what its table says differs.
		t.Agree++
	default:
		t.None++
		w.keep(situation(), w.kind(), NoAnswer)
	}
}

func (w *worker) judge(t *Tally, s Situation) {
	if w.table.RA.Kind == stackwalk.Undefined {
		t.Agree++ // the outermost frame: whatever the subject says, nobody asks
		return
	}
	rel := w.code.Compare(&w.q, w.f.Lo&^uint64(w.q.Mode), &w.table, &w.answer)
	switch {
	case rel.CFA == stackwalk.No || rel.RA == stackwalk.No:
		t.Wrong++
		k := w.kind()
		w.Wrong[k]++
		w.keep(s, k, Wrong)
	case (rel.CFA == stackwalk.Unknown || rel.RA == stackwalk.Unknown) && w.related[w.pair()]:
		t.Agree++
	case rel.CFA == stackwalk.Unknown || rel.RA == stackwalk.Unknown:
		t.Open++
		w.keep(s, w.kind(), Undecided)
	default:
		t.Agree++
		if w.table.CFA.Base != w.answer.CFA.Base {
			w.related[w.pair()] = true
		}
		if rel.Regs == stackwalk.No {
			t.Regs++
			w.keep(s, w.kind(), Registers)
		}
	}
}

// pair is both rules as text. Rules over different registers are what they are to one another wherever the function has both: at handlers
// of exceptions, which no flow comes to, the same as where it does.
func (w *worker) pair() string {
	return w.table.Format(w.own.Arch) + "\n" + w.answer.Format(w.own.Arch)
}

// kind tells what kind of code a wrong answer is in.
func (w *worker) kind() Kind {
	entry := w.f.Lo &^ uint64(w.q.Mode)
	switch {
	case w.part():
		return Part
	case w.code.Covers(&w.q, entry):
		return Flow
	}
	return Pad
}

// part tells whether the range is only a part of a function: its first row is not
// that of an entry.
func (w *worker) part() bool {
	var first stackwalk.Rule
	q := w.q
	q.Image, q.PC, q.Exact = w.own, w.f.Lo, true
	if w.reference.Method() != unwind.MethodCFI || w.reference.Rule(&q, &first) != unwind.Found {
		return false
	}
	arch := w.own.Arch
	return first.CFA.Kind != stackwalk.RegPlus || first.CFA.Base != arch.SP || first.CFA.Off != arch.EntryCFA
}

// keep counts a disagreement and remembers the first of each function.
func (w *worker) keep(s Situation, k Kind, v Verdict) {
	of := verdictOf{w.f.Lo, v}
	if i, ok := w.kept[of]; ok {
		w.Disagreements[i].Places++
		return
	}
	w.kept[of] = len(w.Disagreements)
	place := w.q.PC
	if !w.q.Exact {
		place = w.q.Resume
	}
	const both = stackwalk.FromEntry | stackwalk.Agreed
	w.Disagreements = append(w.Disagreements, Disagreement{Verdict: v, Places: 1, Place: place, Mode: w.q.Mode, Situation: s, Kind: k,
		Lo: w.f.Lo, Hi: w.f.Hi, Table: w.table, Subject: w.answer, query: w.q, Suspect: v == Wrong && w.answer.Flags&both == both})
}
