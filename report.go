package backsight

import (
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Symbolizer names places in binaries. *symbol.Symbolizer reads the names out of the
// binaries; a program that has a symbol server asks that. It must be safe for concurrent
// use.
type Symbolizer interface {
	// Prepare is told of the places that Lookup will be asked for, so that what is far
	// away is fetched in one go. Its error becomes an issue of the report; Lookup is
	// called nevertheless.
	Prepare(ctx context.Context, places iter.Seq2[*image.Image, uint64]) error
	// Lookup names an image address without ISA mode bit; of a frame that waits for a
	// call, the address lies within the call instruction. What is not known stays zero.
	Lookup(img *image.Image, addr uint64) symbol.Location
}

// Report names the frames of a snapshot's backtraces. names may be nil: frames then have
// modules and offsets only, as have those that the end of ctx left without names.
func Report(ctx context.Context, snap *target.Snapshot, traces []Backtrace, names Symbolizer) *report.Report {
	r := &report.Report{Snapshot: snap, Issues: slices.Clip(snap.Issues), Threads: make([]report.Thread, len(traces))}
	if names != nil {
		if err := names.Prepare(ctx, addresses(traces)); err != nil {
			r.Issues = append(r.Issues, "names: "+err.Error())
		}
	}
	for i := range traces {
		t := &traces[i]
		r.Threads[i] = report.Thread{Thread: t.Thread, Stop: t.Stop, Tried: t.Tried, Frames: named(ctx, t.Frames, names)}
	}
	r.Issues = append(r.Issues, missing(snap, traces)...)
	return r
}

// named looks frames up.
func named(ctx context.Context, frames []unwind.Frame, names Symbolizer) []report.Frame {
	out := make([]report.Frame, len(frames))
	for i := range frames {
		out[i].Frame = frames[i]
		if img, addr := address(&frames[i]); names != nil && img != nil && ctx.Err() == nil {
			out[i].Location = names.Lookup(img, addr)
		}
	}
	return out
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
