package stackuse

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/callee"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Pads are the landing pads of a function or of a part of it, the addresses from Lo up to Hi. Known: there are no others.
type Pads struct {
	Lo, Hi uint64
	At     []uint64
	Known  bool
}

// Exceptions tells where exceptions enter the function at a place, by its tables.
type Exceptions func(img *image.Image, pc uint64) Pads

// throw follows the landing pads of the function: where tables name them, else as code behind it looks.
func (w *walk) throw(exceptions Exceptions) {
	if exceptions == nil {
		exceptions = func(*image.Image, uint64) Pads { return Pads{} }
	}
	entry := w.f.Entry
	part := exceptions(w.code.Img, entry.PC)
	if !part.Known {
		if at, has := behind(w); has {
			w.enter([]uint64{at})
			w.doubt(at, LandingPads)
		}
		return
	}
	w.enter(part.At)
	for i := 0; i < len(w.calls) && i < maxListed; i++ { // those in landing pads, too
		if at := w.calls[i].Site.PC; at < part.Lo || at >= part.Hi {
			if part = exceptions(w.code.Img, at); !part.Known {
				w.doubt(at, LandingPads)
			}
			w.enter(part.At)
		}
	}
}

// enter follows landing pads as far as no flow has come there. SP stands there as it stood at the call that threw, which is not below
// the lowest place.
func (w *walk) enter(pads []uint64) {
	for _, pc := range pads {
		pc, _ = w.code.Arch.SplitCode(pc)
		at := disasm.Addr{PC: pc, Mode: w.f.Entry.Mode}
		if !w.code.Has(pc) {
			w.doubt(pc, LandingPads)
		}
		if !w.within(at) && w.code.Has(pc) {
			w.follow(at)
		}
	}
}

// follow follows the code from a landing pad on.
func (w *walk) follow(at disasm.Addr) {
	owner := w.pads.parts[0]
	if owner.BehindCalls == "" && owner.AtLastCalls == "" || w.pads.steps > maxPadSteps { // it calls nobody, as far as was seen
		w.doubt(at.PC, LandingPads)
		return
	}
	f := w.code.Flows.LandingPads(owner, at)
	p := newWalk(w.code, f)
	w.pads.parts = append(w.pads.parts, f)
	p.places, p.pads = w.places, landing{parts: w.pads.parts, floor: w.lowest, known: true}
	p.settle()
	if !dataflow.RunsAt(f, at) || f.BrokenOff {
		w.doubt(at.PC, LandingPads)
	}
	w.lowest, w.reach = min(w.lowest, p.lowest), min(w.reach, p.reach)
	w.dynamic, w.pads.steps = w.dynamic || p.dynamic, w.pads.steps+f.Steps()
	w.calls = append(w.calls, p.calls...)
	for _, d := range p.doubts {
		w.doubt(d.At, d.Why)
	}
}

// maxPadSteps bounds the instructions that are executed for the landing pads of a function.
const maxPadSteps = 1 << 18

// within tells whether a place is the function's own.
func (w *walk) within(at disasm.Addr) bool {
	return slices.ContainsFunc(w.pads.parts, func(f *dataflow.Function) bool { return dataflow.RunsAt(f, at) })
}

// maxPads bounds how much code behind a function is looked at, in instructions.
const maxPads = 1 << 12

// behind tells whether code stands between a function and the next that throws an exception on, or catches one: the
// function's landing pads, which no flow leads to (Itanium C++ ABI, Exception Handling, 2.4).
func behind(w *walk) (at uint64, has bool) {
	entry := w.f.Entry
	from, left := dataflow.EndFrom(w.f, entry.PC), maxPads
	disasm.Each(w.code.Code, disasm.Addr{PC: from, Mode: entry.Mode}, w.code.Entries.Next(entry.PC, entry.PC), func(_ disasm.Addr, in *cpu.Insn) bool {
		left--
		has = in.Op == cpu.OpCall && in.Target != 0 && callee.OfLandingPads(w.code.Callees, disasm.Target(in))
		return left > 0 && !has
	})
	return from, has
}
