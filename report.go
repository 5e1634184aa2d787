package backsight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/diagnose"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/signature"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/study"
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

// Names returns a Symbolizer that reads names out of binaries. Where a file does not say how far a function reaches, its code
// does. mangled leaves names as they are in the file.
func Names(mangled bool) *symbol.Symbolizer {
	graph := study.CallGraph()
	return &symbol.Symbolizer{Mangled: mangled, Holds: func(img *image.Image, entry, addr uint64, mode cpu.Mode) bool {
		return graph.OneFunction(target.NewModule(img.Path, img, 0), entry, addr, mode) != stackwalk.No
	}}
}

// Report names the frames of a snapshot's backtraces. names may be nil: frames then have
// modules and offsets only. So have the frames that were not yet named when ctx ended.
func Report(ctx context.Context, snap *target.Snapshot, traces []Backtrace, names Symbolizer) *report.Report {
	r := &report.Report{Snapshot: snap, Issues: slices.Clip(snap.Issues), Threads: make([]report.Thread, len(traces))}
	release, err := hold(snap)
	defer release()
	if err != nil {
		names, r.Issues = nil, append(r.Issues, unread(err)...)
	}
	if names != nil {
		r.Issues = append(r.Issues, prepare(ctx, names, places(snap.Arch, traces))...)
	}
	n := namer{snap: snap, names: names, made: snap.Made}
	for i := range traces {
		t := &traces[i]
		r.Threads[i] = report.Thread{Thread: t.Thread, Repeats: t.Repeats, Stop: t.Stop, Tried: t.Tried, Overwritten: t.Overwritten, Kernel: t.Kernel,
			Frames: n.named(ctx, t), Created: created(snap, t.Thread, names)}
	}
	if err == nil {
		fault := mapped.Guard(func() {
			n.addTailCallers(ctx, r)
			giveReasons(snap, r)
		})
		r.Issues = append(r.Issues, unread(study.Blame(snap, fault))...)
	}
	r.Issues = append(append(r.Issues, missing(snap, traces)...), doubts(traces)...)
	r.Issues = append(r.Issues, unexplained(traces)...)
	r.Issues = append(r.Issues, brokenOff(snap)...)
	return r
}

// sign gives the threads of a report their signatures (report.Signature): those that crashed, and the first of the others. It
// takes the binaries' code, which must still be open. Once ctx has ended, further threads have none, nor have the samples of a
// profile: they are no crashes.
func sign(ctx context.Context, r *report.Report) {
	if r.Snapshot == nil || r.Snapshot.Sampled {
		return
	}
	release, err := hold(r.Snapshot)
	if err != nil {
		return
	}
	defer release()
	fault := mapped.Guard(func() { signature.Add(ctx, study.CallGraph(), r) })
	r.Issues = append(r.Issues, unread(study.Blame(r.Snapshot, fault))...)
}

// unexplained tells that of some threads alone what was tried was kept.
func unexplained(traces []Backtrace) []target.Issue {
	n := 0
	for i := range traces {
		if traces[i].Tried != nil {
			n++
		}
	}
	if n == 0 || n == len(traces) {
		return nil
	}
	return []target.Issue{{Kind: target.IssueThreads, Text: fmt.Sprintf("what was tried is told of %d of %d threads: that is much", n, len(traces))}}
}

// brokenOff tells that memory could not be read any more, of which there may have been more. A Pager's other errors are of
// memory that is not there.
func brokenOff(snap *target.Snapshot) []target.Issue {
	var err *input.Error
	if snap.Memory == nil || !errors.As(snap.Memory.Err(), &err) {
		return nil
	}
	return []target.Issue{{Kind: target.IssueCapture, Subject: err.Path, Text: err.Error()}}
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

// place is what a frame's name is looked up by: an image address of a module.
type place struct {
	module *target.Module
	addr   uint64
}

// namer names frames. A place that many frames are at is looked up once.
type namer struct {
	snap    *target.Snapshot
	names   Symbolizer // nil: no frame has a name
	made    func(addr uint64) (name string, entry uint64, ok bool)
	known   map[place]*symbol.Location
	unknown symbol.Location
}

// named looks up the names of a backtrace's frames. A frame that names does not know has the name
// that the capture lists for it.
func (n *namer) named(ctx context.Context, t *Backtrace) []report.Frame {
	out := make([]report.Frame, len(t.Frames))
	for i := range out {
		f := &out[i]
		f.Frame, f.Location = &t.Frames[i], &n.unknown
		if size, ok := t.Sizes[i]; ok {
			d := f.Detailed()
			d.Size, d.HasSize = size, true
		}
		if f.Module != nil && n.names != nil && ctx.Err() == nil {
			f.Location = n.at(place{f.Module, lookedUp(n.snap.Arch, f.Frame)})
		}
		if f.Function == "" && n.names != nil {
			f.Location = cmp.Or(n.listedName(t, i), n.madeName(f.Frame), &n.unknown)
		}
	}
	return out
}

func (n *namer) at(p place) *symbol.Location {
	l := n.known[p]
	if l == nil {
		found := n.names.Lookup(p.module, p.addr)
		l = &found
		if n.known == nil {
			n.known = make(map[place]*symbol.Location)
		}
		n.known[p] = l
	}
	return l
}

// madeName is the name of a frame's function that the program made, nil where nobody knows one, or a file has the code.
func (n *namer) madeName(f *unwind.Frame) *symbol.Location {
	if n.made == nil || f.Module != nil && !f.Module.Anonymous() {
		return nil
	}
	name, entry, ok := n.made(f.CallSite)
	if !ok {
		return nil
	}
	if f.Module != nil {
		entry = f.Module.ToImage(entry)
	}
	return &symbol.Location{Function: n.readable(name), Entry: entry}
}

// readable is the readable form of a name that the capture gives, as far as the Symbolizer makes names readable.
func (n *namer) readable(name string) string {
	if r, is := n.names.(interface{ Readable(name string) string }); is {
		return r.Readable(name)
	}
	return name
}

// created names the go statement that started a goroutine, nil where it is not known.
func created(snap *target.Snapshot, t *target.Thread, names Symbolizer) *symbol.Location {
	if names == nil || t == nil || t.Task == nil || t.Task.Goroutine == nil || t.Task.Goroutine.Created == 0 {
		return nil
	}
	call := t.Task.Goroutine.Created - 1
	m, ok := snap.ModuleAt(call)
	if !ok {
		return nil
	}
	l := names.Lookup(m, m.ToImage(call)&snap.Arch.AddrMask())
	return &l
}

// listedName is the name that the capture gives a backtrace's frame, nil where it gives none.
func (n *namer) listedName(b *Backtrace, i int) *symbol.Location {
	if i >= len(b.Listed) || b.Listed[i] == nil || b.Listed[i].Symbol == "" {
		return nil
	}
	f, entry, l := &b.Frames[i], b.Listed[i], new(symbol.Location)
	l.Function, l.Entry, l.NoEntry, l.File, l.Line = n.readable(entry.Symbol), f.PC-entry.Offset, entry.NoOffset, entry.File, entry.Line
	for _, in := range entry.Inlined {
		l.Inlines = append(l.Inlines, symbol.Inline{Function: n.readable(in.Function), File: in.File, Line: in.Line})
	}
	if f.Module != nil {
		l.Entry = f.Module.ToImage(l.Entry)
	}
	return l
}

// prepare tells a Symbolizer of places. That it cannot fetch their names is an issue.
func prepare(ctx context.Context, names Symbolizer, places iter.Seq2[*target.Module, uint64]) []target.Issue {
	if err := names.Prepare(ctx, places); err != nil {
		return []target.Issue{{Kind: target.IssueNames, Text: "names: " + err.Error()}}
	}
	return nil
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
// capture names already is left out. Of a binary without a file the dump may have shown some code.
func missing(snap *target.Snapshot, traces []Backtrace) (issues []target.Issue) {
	said := make(map[*target.Module]bool)
	for i := range traces {
		for k := range traces[i].Frames {
			m := traces[i].Frames[k].Module
			if m == nil || m.Name == "" || m.Image != nil && (m.Image.Path != "" || !m.Hollow()) || m.Anonymous() || said[m] {
				continue
			}
			said[m] = true
			if !slices.ContainsFunc(snap.Issues, func(i target.Issue) bool { return target.BaseName(i.Subject) == m.Base() }) {
				issues = append(issues, notFound(m))
			}
		}
	}
	return issues
}

func notFound(m *target.Module) target.Issue {
	if m.Stated != target.StatedPlace {
		return target.Issue{Kind: target.IssueNotFound, Subject: m.Name, Text: m.Name + ": not found"}
	}
	return target.Issue{Kind: target.IssueNotFound, Subject: m.Name, Addr: m.Lo, Text: fmt.Sprintf("%s, mapped at %#x: not found", m.Name, m.Lo)}
}
