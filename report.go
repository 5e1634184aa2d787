package backsight

import (
	"context"
	"fmt"
	"iter"
	"path"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/diagnose"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Report names the frames of a snapshot's backtraces. names may be nil: frames then have
// modules and offsets only. So have the frames that were not yet named when ctx ended.
func Report(ctx context.Context, snap *target.Snapshot, traces []Backtrace, names Symbolizer) *report.Report {
	r := &report.Report{Snapshot: snap, Issues: slices.Clip(snap.Issues), Threads: make([]report.Thread, len(traces))}
	if names != nil {
		r.Issues = append(r.Issues, prepare(ctx, names, places(snap.Arch, traces))...)
	}
	for i := range traces {
		t := &traces[i]
		r.Threads[i] = report.Thread{Thread: t.Thread, Stop: t.Stop, Tried: t.Tried, Overwritten: t.Overwritten,
			Frames: named(ctx, snap.Arch, t, names)}
	}
	fault := mapped.Guard(func() { giveReasons(snap, r) })
	r.Issues = append(r.Issues, unread(blame(snap, fault))...)
	r.Issues = append(append(r.Issues, missing(snap, traces)...), doubts(traces)...)
	return r
}

// giveReasons says why the threads crashed: the one that snap's fault hit, and those that have a fault of their own.
func giveReasons(snap *target.Snapshot, r *report.Report) {
	for i := range r.Threads {
		switch t := &r.Threads[i]; {
		case t.Thread == nil: // the frames of a profile
		case r.Crash == nil && snap.Fault != nil && t.ID == snap.Fault.Thread:
			r.Crash = diagnose.Crash(snap, t)
		case t.Fault != nil && t.Crashed:
			own := *snap
			own.Fault = t.Fault
			t.Reasons = diagnose.Crash(&own, t).Reasons
		}
	}
}

// unread is the issue of a file that cannot be read any more.
func unread(err error) []target.Issue {
	if err == nil {
		return nil
	}
	return []target.Issue{{Kind: target.IssueImage, Text: err.Error()}}
}

// named looks up the names of a backtrace's frames. A frame that names does not know has the name
// that the capture lists for it.
func named(ctx context.Context, arch *cpu.Arch, t *Backtrace, names Symbolizer) []report.Frame {
	out := make([]report.Frame, len(t.Frames))
	for i := range t.Frames {
		out[i].Frame = t.Frames[i]
		out[i].Size, out[i].HasSize = t.Sizes[i]
		if m := t.Frames[i].Module; names != nil && m != nil && ctx.Err() == nil {
			out[i].Location = names.Lookup(m, lookedUp(arch, &t.Frames[i]))
		}
		if names != nil && out[i].Function == "" {
			out[i].Location = t.listedName(i)
		}
	}
	return out
}

// places are the module and the image address by which each frame's name is looked up.
func places(arch *cpu.Arch, traces []Backtrace) iter.Seq2[*target.Module, uint64] {
	return func(yield func(*target.Module, uint64) bool) {
		for i := range traces {
			for k := range traces[i].Frames {
				f := &traces[i].Frames[k]
				if f.Module != nil && !yield(f.Module, lookedUp(arch, f)) {
					return
				}
			}
		}
	}
}

// lookedUp is the image address that names a frame of a module.
func lookedUp(arch *cpu.Arch, f *unwind.Frame) uint64 {
	if f.Module.Image != nil {
		arch = f.Module.Image.Arch
	}
	return f.Module.ToImage(f.CallSite) & arch.AddrMask()
}

// missing has an issue for each binary that frames lie in and that was not found: without the
// binary, callers are found by searching the stack, if at all. A binary that an issue of the
// capture names already is left out.
func missing(snap *target.Snapshot, traces []Backtrace) (issues []target.Issue) {
	said := make(map[*target.Module]bool)
	for i := range traces {
		for k := range traces[i].Frames {
			m := traces[i].Frames[k].Module
			if m == nil || m.Image != nil || said[m] {
				continue
			}
			said[m] = true
			if !slices.ContainsFunc(snap.Issues, func(i target.Issue) bool { return path.Base(i.Subject) == path.Base(m.Name) }) {
				issues = append(issues, target.Issue{Kind: target.IssueNotFound, Subject: m.Name, Addr: m.Lo,
					Text: fmt.Sprintf("%s, mapped at %#x: not found", m.Name, m.Lo)})
			}
		}
	}
	return issues
}
