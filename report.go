package backsight

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Report names the frames of a snapshot's backtraces and makes them ready for
// package render. names may be nil: frames then have modules and offsets only.
func Report(snap *target.Snapshot, traces []Backtrace, names *symbol.Symbolizer) *render.Report {
	r := &render.Report{Snapshot: snap, Issues: snap.Issues, Threads: make([]render.Thread, len(traces))}
	if names != nil {
		lookUp(traces, names)
	}
	for i := range traces {
		t := &traces[i]
		out := &r.Threads[i]
		out.Thread, out.Stop, out.Frames = t.Thread, t.Stop, make([]render.Frame, len(t.Frames))
		for k := range t.Frames {
			f := &out.Frames[k]
			f.Frame = t.Frames[k]
			if m := f.Module; names != nil && m != nil && m.Image != nil {
				f.Location = names.Lookup(m.Image, m.ToImage(f.CallSite)&m.Image.Arch.AddrMask())
			}
		}
	}
	r.Issues = append(slices.Clip(r.Issues), missing(snap, traces)...)
	return r
}

// lookUp looks all frames up in the order of their addresses, which is about the
// order of what debug files say of them: those are compressed, and what was passed
// has to be decompressed again.
func lookUp(traces []Backtrace, names *symbol.Symbolizer) {
	var frames []unwind.Frame
	for i := range traces {
		frames = append(frames, traces[i].Frames...)
	}
	slices.SortFunc(frames, func(a, b unwind.Frame) int { return cmp.Compare(a.CallSite, b.CallSite) })
	for i := range frames {
		if f := &frames[i]; f.Module != nil && f.Module.Image != nil && (i == 0 || f.CallSite != frames[i-1].CallSite) {
			names.Lookup(f.Module.Image, f.Module.ToImage(f.CallSite)&f.Module.Image.Arch.AddrMask())
		}
	}
}

// missing says which binaries were not found that frames lie in: without them
// frames are found by searching the stack, if at all. Those that the capture's
// issues name already are left out.
func missing(snap *target.Snapshot, traces []Backtrace) (issues []string) {
	said := make(map[*target.Module]bool)
	for i := range traces {
		for k := range traces[i].Frames {
			m := traces[i].Frames[k].Module
			if m == nil || m.Image != nil || said[m] {
				continue
			}
			said[m] = true
			if !slices.ContainsFunc(snap.Issues, func(s string) bool { return strings.Contains(s, path.Base(m.Name)) }) {
				issues = append(issues, fmt.Sprintf("%s, mapped at %#x: not found", m.Name, m.Lo))
			}
		}
	}
	return issues
}
