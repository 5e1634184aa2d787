package backsight

import (
	"context"
	"fmt"
	"iter"
	"path"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Symbolizer names places in the modules of a program. *symbol.Symbolizer reads the names
// out of the modules' binaries; a program that has a symbol server asks that, by the
// build ID, for modules whose binary is not at hand as well. It must be safe for
// concurrent use.
type Symbolizer interface {
	// Prepare is told of the places that Lookup will be asked for, modules and their
	// image addresses, so that what is far away is fetched in one go. Its error becomes
	// an issue of the report; Lookup is called nevertheless.
	Prepare(ctx context.Context, places iter.Seq2[*target.Module, uint64]) error
	// Lookup names an image address, without ISA mode bit, of a module whose Image may
	// be nil. Of a frame that waits for a call, the address lies within the call
	// instruction. What is not known stays zero.
	Lookup(m *target.Module, addr uint64) symbol.Location
}

// Report names the frames of a snapshot's backtraces. names may be nil: frames then have
// modules and offsets only, as have those that the end of ctx left without names.
func Report(ctx context.Context, snap *target.Snapshot, traces []Backtrace, names Symbolizer) *report.Report {
	r := &report.Report{Snapshot: snap, Issues: slices.Clip(snap.Issues), Threads: make([]report.Thread, len(traces))}
	if names != nil {
		if err := names.Prepare(ctx, places(snap.Arch, traces)); err != nil {
			r.Issues = append(r.Issues, target.Issue{Kind: target.IssueNames, Text: "names: " + err.Error()})
		}
	}
	for i := range traces {
		t := &traces[i]
		r.Threads[i] = report.Thread{Thread: t.Thread, Stop: t.Stop, Tried: t.Tried, Frames: named(ctx, snap.Arch, t.Frames, names)}
	}
	r.Issues = append(r.Issues, missing(snap, traces)...)
	return r
}

// named looks frames up.
func named(ctx context.Context, arch *cpu.Arch, frames []unwind.Frame, names Symbolizer) []report.Frame {
	out := make([]report.Frame, len(frames))
	for i := range frames {
		out[i].Frame = frames[i]
		if m := frames[i].Module; names != nil && m != nil && ctx.Err() == nil {
			out[i].Location = names.Lookup(m, lookedUp(arch, &frames[i]))
		}
	}
	return out
}

// places are those that the frames are looked up by.
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

// missing says which binaries were not found that frames lie in: without them
// frames are found by searching the stack, if at all. Those that an issue of the
// capture is about already are left out.
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
