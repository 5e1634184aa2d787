package main

import (
	"context"
	"fmt"
	"hash/maphash"
	"path"
	"slices"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// profile counts stacks.
type profile struct {
	walker unwind.Walker
	seed   maphash.Seed
	stacks map[uint64]*stack // by a hash of the PCs
	buf    []unwind.Frame    // of the sample at hand
	frames int
}

// stack is a call chain and how many samples have it.
type stack struct {
	frames []unwind.Frame
	count  int
}

func newProfile(w unwind.Walker) *profile {
	return &profile{walker: w, seed: maphash.MakeSeed(), stacks: make(map[uint64]*stack)}
}

// add unwinds a sample. Only a stack that was not seen before is kept, and allocates.
func (p *profile) add(s *unwind.Sample) {
	p.buf, _ = p.walker.WalkSample(s, p.buf[:0])
	p.frames += len(p.buf)
	var h maphash.Hash
	h.SetSeed(p.seed)
	for i := range p.buf {
		maphash.WriteComparable(&h, p.buf[i].PC)
	}
	known := p.stacks[h.Sum64()]
	if known == nil {
		known = &stack{frames: slices.Clone(p.buf)}
		p.stacks[h.Sum64()] = known
	}
	known.count++
}

// print names the stacks' frames, of all stacks in one go, and prints them sorted.
func (p *profile) print(ctx context.Context, program *target.Snapshot, names backsight.Symbolizer) {
	var traces []backsight.Backtrace
	var counts []int
	for _, s := range p.stacks {
		traces = append(traces, backsight.Backtrace{Frames: s.frames})
		counts = append(counts, s.count)
	}
	r := backsight.Report(ctx, program, traces, names)
	var lines []string
	for i := range r.Threads {
		lines = append(lines, fmt.Sprintf("%s %d", folded(r.Threads[i].Frames), counts[i]))
	}
	slices.Sort(lines)
	fmt.Println(strings.Join(lines, "\n"))
}

// folded is a stack in one line, outermost function first.
func folded(frames []report.Frame) string {
	var names []string
	for i := range frames {
		f := &frames[i]
		switch {
		case f.Function != "":
			names = append(names, f.Function)
		case f.Module != nil:
			names = append(names, fmt.Sprintf("%s+%#x", path.Base(f.Module.Name), f.CallSite-f.Module.Lo))
		default:
			names = append(names, "?")
		}
	}
	slices.Reverse(names)
	return strings.Join(names, ";")
}
