package backsight

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/backsight/backsight/image"
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
		names.Prepare(addresses(traces))
	}
	for i := range traces {
		t := &traces[i]
		out := &r.Threads[i]
		out.Thread, out.Stop, out.Frames = t.Thread, t.Stop, make([]render.Frame, len(t.Frames))
		for k := range t.Frames {
			f := &out.Frames[k]
			f.Frame = t.Frames[k]
			if img, addr := address(&f.Frame); names != nil && img != nil {
				f.Location = names.Lookup(img, addr)
			}
		}
	}
	r.Issues = append(slices.Clip(r.Issues), missing(snap, traces)...)
	return r
}

// addresses are those that the frames are looked up by, with the images they lie in.
func addresses(traces []Backtrace) iter.Seq2[*image.Image, uint64] {
	return func(yield func(*image.Image, uint64) bool) {
		for i := range traces {
			for k := range traces[i].Frames {
				if img, addr := address(&traces[i].Frames[k]); img != nil && !yield(img, addr) {
					return
				}
			}
		}
	}
}

// address is what a frame is looked up by: nil and 0 where the binary is not known.
func address(f *unwind.Frame) (*image.Image, uint64) {
	if f.Module == nil || f.Module.Image == nil {
		return nil, 0
	}
	return f.Module.Image, f.Module.ToImage(f.CallSite) & f.Module.Image.Arch.AddrMask()
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
