package bench_test

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// work is what walks have asked of what a walker is given: the sources, the call graph and the decoder. Nothing of the
// walker itself counts.
type work struct {
	// searches are the frames whose caller no cache knew; asked are the questions to sources for them.
	searches, asked int
	// edges are the questions to the call graph.
	edges int
	// cost is what sources and call graph say that their answers cost, in instructions of the analysed code.
	cost int
	// decoded are the instructions that were decoded: an answer that was kept costs none.
	decoded     int
	allocations int
}

// options makes walkers count: the first source is asked once for each search.
func (w *work) options(opt stackwalk.Options) stackwalk.Options {
	for i, s := range opt.Sources {
		first := i == 0
		switch s := s.(type) {
		case stackwalk.RuleSource:
			opt.Sources[i] = ruleSource{s, w}
		case stackwalk.FrameSource:
			f := frameSource{s, w, first}
			if at, ok := s.(stackwalk.Trampoline); ok {
				opt.Sources[i] = trampolineSource{f, at}
			} else {
				opt.Sources[i] = f
			}
		}
	}
	opt.CallGraph = callGraph{opt.CallGraph, w}
	opt.Shared = new(stackwalk.Shared)
	return opt
}

type ruleSource struct {
	stackwalk.RuleSource
	w *work
}

// Knows implements stackwalk.ImageSource, as the source does.
func (s ruleSource) Knows(img *image.Image) bool { return knows(s.RuleSource, img) }

// Knows implements stackwalk.ImageSource, as the source does.
func (s frameSource) Knows(img *image.Image) bool { return knows(s.FrameSource, img) }

func knows(s stackwalk.Source, img *image.Image) bool {
	of, ok := s.(stackwalk.ImageSource)
	return !ok || of.Knows(img)
}

func (s ruleSource) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	before := q.Cost
	v := s.RuleSource.Rule(q, out)
	s.w.asked++
	s.w.cost += int(q.Cost - before)
	return v
}

type frameSource struct {
	stackwalk.FrameSource
	w     *work
	first bool
}

func (s frameSource) Step(st *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	before := st.Cost
	v := s.FrameSource.Step(st, out)
	s.w.asked++
	if s.first {
		s.w.searches++
	}
	s.w.cost += int(st.Cost - before)
	return v
}

type trampolineSource struct {
	frameSource
	stackwalk.Trampoline
}

// callGraph counts the questions that most walks ask.
type callGraph struct {
	stackwalk.CallGraph
	w *work
}

func (g callGraph) Reaches(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (stackwalk.Answer, bool, uint64) {
	a, imageOnly, cost := g.CallGraph.Reaches(snap, entry, mode, pc)
	g.w.edges++
	g.w.cost += int(cost)
	return a, imageOnly, cost
}

func (g callGraph) Stub(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (uint64, bool) {
	g.w.edges++
	return g.CallGraph.Stub(snap, entry, mode, pc)
}

func (g callGraph) Callee(snap *target.Snapshot, site uint64, mode cpu.Mode) (uint64, cpu.Mode, bool) {
	g.w.edges++
	return g.CallGraph.Callee(snap, site, mode)
}

func (g callGraph) OneFunction(m *target.Module, a, b uint64, mode cpu.Mode) stackwalk.Answer {
	g.w.edges++
	return g.CallGraph.OneFunction(m, a, b, mode)
}

func (g callGraph) StartsFunction(m *target.Module, pc uint64, mode cpu.Mode, site cpu.CallSite) bool {
	g.w.edges++
	return g.CallGraph.StartsFunction(m, pc, mode, site)
}

func (g callGraph) EndsThread(m *target.Module, pc uint64, mode cpu.Mode) bool {
	g.w.edges++
	return g.CallGraph.EndsThread(m, pc, mode)
}

// decodes makes the code of a program's snapshots count when it is decoded.
func (w *work) decodes(snaps []*target.Snapshot) {
	arch := *snaps[0].Arch
	arch.Decoder = decoder{arch.Decoder, w}
	if jumps, ok := snaps[0].Arch.Decoder.(cpu.JumpFinder); ok {
		arch.Decoder = jumpFinder{decoder{snaps[0].Arch.Decoder, w}, jumps}
	}
	for _, snap := range snaps {
		snap.Arch = &arch
		for _, m := range snap.Modules {
			m.Image.Arch = &arch
		}
	}
}

type decoder struct {
	cpu.Decoder
	w *work
}

func (d decoder) Decode(code []byte, pc uint64, mode cpu.Mode, out []cpu.Insn) int {
	n := d.Decoder.Decode(code, pc, mode, out)
	d.w.decoded += n
	return n
}

type jumpFinder struct {
	decoder
	cpu.JumpFinder
}
