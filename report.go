package backsight

import (
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

// Report names the frames of a snapshot's backtraces and makes them ready for
// package render. names may be nil: frames then have modules and offsets only.
func Report(snap *target.Snapshot, traces []Backtrace, names *symbol.Symbolizer) *render.Report {
	r := &render.Report{Snapshot: snap, Issues: snap.Issues, Threads: make([]render.Thread, len(traces))}
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
	return r
}
