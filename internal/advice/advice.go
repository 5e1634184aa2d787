// Package advice says what a capture lacks for whole chains: at the first frame of each thread that is a guess, or where the
// chain ends before its root, and which settings make the capture's writer give that.
//
//	#0 leaf    certain
//	#1 work    certain       the stack was captured up to here: 2048 bytes
//	#2 main    guess         ─► more of the stack
package advice

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// maxThreads bounds the threads that are named with one lack.
const maxThreads = 1024

// Of is the advice to a report of a capture whose format (input.Format) has this name, "" for none.
func Of(r *report.Report, format string) *report.Advice {
	a := adviser{report: r, out: new(report.Advice), found: map[what]int{}}
	for i := range r.Threads {
		t := &r.Threads[i]
		if t.Thread == nil {
			continue
		}
		a.out.Threads++
		if t.Whole() {
			a.out.Whole++
		} else {
			a.thread(t)
		}
		a.binaries(t)
	}
	a.out.Settings = settings(a.out.Lacks, format, r.Snapshot.OS)
	return a.out
}

type adviser struct {
	report *report.Report
	out    *report.Advice
	found  map[what]int // in out.Lacks
}

// what is what makes two lacks one.
type what struct {
	kind   report.LackKind
	from   uint64
	module *target.Module
}

// add notes a lack of a thread.
func (a *adviser) add(t *report.Thread, l report.Lack) {
	w := what{l.Kind, l.Range.Lo, l.Module}
	i, ok := a.found[w]
	if !ok {
		i = len(a.out.Lacks)
		a.found[w] = i
		a.out.Lacks = append(a.out.Lacks, l)
	}
	known := &a.out.Lacks[i]
	if ok {
		known.Frames += l.Frames
	}
	if len(known.Threads) < maxThreads && !slices.Contains(known.Threads[max(0, len(known.Threads)-1):], t.ID) {
		known.Threads = append(known.Threads, t.ID)
	}
}

// thread notes what a thread lacks that is not whole, at the first frame that is a guess, else at the end.
func (a *adviser) thread(t *report.Thread) {
	if missing := unknown(a.report.Snapshot.Arch, &t.Regs); len(missing) > 0 {
		a.add(t, report.Lack{Kind: report.LackRegisters, Registers: missing})
	}
	n := t.FirstGuess()
	switch {
	case n > 0:
		a.callee(t, n-1, t.Frames[n].Checks&(unwind.OnlyCaller|unwind.SeveralFit) != 0)
	case n == 0 || len(t.Frames) == 0: // registers alone say where the thread stands
	case t.Stop.Reason == unwind.StopLimit:
		a.add(t, report.Lack{Kind: report.LackFrames})
	case t.Stop.Reason == unwind.StopUnreadable:
		a.callee(t, len(t.Frames)-1, true)
	case t.Stop.Reason == unwind.StopNoRule:
		a.callee(t, len(t.Frames)-1, false)
	default:
		a.add(t, report.Lack{Kind: report.LackNothing})
	}
}

// unknown are the names of the registers that chains begin with and that are not known.
func unknown(arch *cpu.Arch, regs *cpu.Registers) (names []string) {
	for _, reg := range []cpu.Reg{arch.PC, arch.SP, arch.LR, arch.FP} {
		if _, ok := regs.Lookup(reg); !ok && reg != cpu.NoReg && int(reg) < len(arch.Regs) {
			names = append(names, arch.Regs[reg].Names[0])
		}
	}
	return names
}

// callee notes what is lacking to go on from frame n: the code that runs there, or memory that the capture does not have
// (unread), or else what tells more of the code.
func (a *adviser) callee(t *report.Thread, n int, unread bool) {
	f := &t.Frames[n]
	snap := a.report.Snapshot.Of(t.Thread)
	switch {
	case f.Module == nil:
		if !captured(snap, f.PC) && f.PC != 0 {
			a.add(t, report.Lack{Kind: report.LackBinary, Range: target.Range{Lo: f.PC}})
			return
		}
	case f.Module.Image == nil || f.Module.Hollow():
		return // binaries
	}
	switch {
	case unread || f.Method == unwind.MethodPrewalked:
		a.memory(t, n+1)
	case f.Module != nil && !f.Module.Anonymous():
		a.add(t, report.Lack{Kind: report.LackDebugFile, Module: f.Module})
	default:
		a.add(t, report.Lack{Kind: report.LackNothing})
	}
}

func captured(snap *target.Snapshot, addr uint64) bool {
	if snap.Memory == nil {
		return false
	}
	_, ok := snap.Memory.PermAt(addr)
	return ok
}

// far is how far behind the end of a captured stack memory is still called that stack's, in bytes.
const far = 1 << 20

// memory notes the memory that a walk of so many frames ended for.
func (a *adviser) memory(t *report.Thread, frames int) {
	snap := a.report.Snapshot.Of(t.Thread)
	sp, _ := t.Regs.Lookup(snap.Arch.SP)
	sp &= snap.Arch.AddrMask()
	end := sp
	if snap.Memory != nil {
		end = max(snap.Memory.RangeAt(sp).Hi, sp)
	}
	at := t.Stop.Addr
	if t.Stop.Reason == unwind.StopUnreadable && (at < sp || at-end > far && at > end) && !t.Stack.Contains(at) {
		a.add(t, report.Lack{Kind: report.LackMemory, Range: target.RangeOf(at, uint64(snap.Arch.AddrSize))})
		return
	}
	l := report.Lack{Kind: report.LackStack, Range: target.Range{Lo: end}, Captured: end - sp, Frames: frames}
	if t.Stack.Contains(end) {
		l.Range.Hi = t.Stack.Hi
	}
	a.add(t, l)
}

// binaries notes the binaries that a thread's frames lie in and that are not at hand.
func (a *adviser) binaries(t *report.Thread) {
	for i := range t.Frames {
		if m := t.Frames[i].Module; m != nil && !m.Anonymous() && (m.Image == nil || m.Hollow()) {
			a.add(t, report.Lack{Kind: report.LackBinary, Module: m, Range: m.Range, Frames: 1})
		}
	}
}
