package stackuse

import (
	"maps"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
)

// walk goes through the instructions of a function and keeps where SP may stand lowest. Most functions take one
// pass. Where SP is computed from what is not known, or differs on two paths to a place, passes are repeated until
// the places of SP stay the same.
type walk struct {
	code *analyses.Image
	f    *dataflow.Function
	sp   cpu.Reg
	pads landing
	places
	tables map[absint.Value]tableTargets
	slots  *dataflow.Slots

	most  most
	masks masks
	block uint64 // the beginning of the block at hand
	spot
	fresh bool  // the instruction before has set SP to a number
	probe int64 // SP behind the stack probes of the block at hand, 0: there are none
	outcome
}

// places are what the passes have found of SP where the analysis does not tell. symbols are its lowest places where the analysis has a
// symbol for it, blocks those at the beginnings of blocks to which SP comes with several values, or one that is none of the
// analysis; ends are those behind the last instruction of each block.
type places struct {
	symbols map[absint.Base]int64
	blocks  map[uint64]spot
	ends    map[uint64]spot
	// top is where SP stands highest that the code sets to a number: the stack of a program's beginning.
	top    int64
	hasTop bool
	// raised are the symbols of SP behind an addition of what is not known: as an end of a function takes back a large
	// frame whose size a register of the caller's kept through a call (GCC's -fipa-ra).
	raised map[absint.Base]bool
}

// landing is what the landing pads of a function share with it.
type landing struct {
	// parts are the function and the landing pads that were followed, steps what those have cost.
	parts []*dataflow.Function
	steps int
	// Of landing pads: floor is where SP may stand where a block begins, as far as nothing tells. known: the code is certainly code.
	floor int64
	known bool
}

// spot is where SP stands: at low, at the lowest; lost: nobody knows where.
type spot struct {
	low  int64
	lost bool
}

// outcome is what one pass finds.
type outcome struct {
	lowest, reach int64
	dynamic       bool
	several       bool // some block has several places of SP
	steps         int
	followed      int // calls whose ways were followed
	listed        int // targets in tables
	calls         []Call
	doubts        []Doubt
}

func newWalk(code *analyses.Image, f *dataflow.Function) *walk {
	return &walk{code: code, f: f, sp: code.Arch.SP, pads: landing{parts: []*dataflow.Function{f}}, slots: dataflow.NewSlots(f), tables: map[absint.Value]tableTargets{}, places: places{
		symbols: map[absint.Base]int64{}, blocks: map[uint64]spot{}, ends: map[uint64]spot{}, raised: map[absint.Base]bool{}}}
}

// maxPasses bounds the passes: each loop in which SP moves goes on for ever.
const maxPasses = 6

// settle makes passes until the places of SP stay the same.
func (w *walk) settle() {
	for pass := 1; ; pass++ {
		symbols, blocks := maps.Clone(w.symbols), maps.Clone(w.blocks)
		w.outcome = outcome{}
		w.edges()
		dataflow.EachStep(w.f, w.step)
		if !w.several && len(w.symbols) == 0 || maps.Equal(symbols, w.symbols) && maps.Equal(blocks, w.blocks) {
			return
		}
		if pass == maxPasses {
			w.doubt(w.f.Entry.PC, Loop)
			return
		}
	}
}

// edges brings the places of SP at the ends of blocks to the blocks behind, as far as the analysis does not have
// them: nowhere, in the first pass.
func (w *walk) edges() {
	if len(w.blocks) == 0 {
		return
	}
	dataflow.EachEdge(w.f, func(from, to uint64, st *absint.State) {
		was, several := w.blocks[to]
		if !several {
			return
		}
		end := w.ends[from]
		if low, known := w.place(st.Regs[w.sp]); known {
			end = spot{low: low}
		}
		w.blocks[to] = spot{min(was.low, end.low), was.lost || end.lost}
	})
}

// begin is the place of SP at the beginning of a block.
func (w *walk) begin(s *dataflow.Step) {
	w.block, w.spot = s.PC, spot{}
	w.most.reset()
	w.masks.reset()
	w.probe = w.probes(s)
	v := s.Before.Regs[w.sp]
	if low, known := w.place(v); known {
		w.spot = spot{low, v.Kind == absint.StartRelative && w.raised[v.Base]}
		return
	}
	w.several = true
	if at, known := w.blocks[s.PC]; known {
		w.spot = at
	} else {
		w.spot = spot{low: w.pads.floor}
		w.blocks[s.PC] = w.spot
	}
}

// foreign tells whether SP has a value that tells nothing of where it was on entry.
func foreign(v absint.Value) bool { return v.Kind == absint.OtherStack || v.Kind == absint.StartMemory }

// step takes in an instruction.
func (w *walk) step(s *dataflow.Step) {
	if s.First {
		w.begin(s)
	}
	w.steps++
	before, fresh := w.low, w.fresh
	w.low = w.behind(s)
	w.fresh = w.fresh && !fresh || w.fresh && s.After.Regs[w.sp] != s.Before.Regs[w.sp]
	if w.probe != 0 {
		w.low = max(w.low, w.probe)
	}
	if w.low < before && w.lost {
		w.dynamic = true
		w.doubt(s.PC, OtherStack)
	}
	w.lowest = min(w.lowest, w.low)
	w.reach = min(w.reach, w.writes(s, min(before, w.low)))
	if disasm.Transfers(s.In, w.code.Arch) {
		w.transfer(s, before)
	} else if s.In.Op == cpu.OpCall && s.In.Flags&cpu.FlagGetPC != 0 && s.In.Dst == cpu.NoReg {
		w.lowest = min(w.lowest, before-int64(w.code.Arch.RegSize))
	}
	w.most.step(s, w.code.Arch)
	w.masks.step(s, w)
	w.ends[w.block] = w.spot
}

// behind is the place of SP behind an instruction.
func (w *walk) behind(s *dataflow.Step) int64 {
	was, v := s.Before.Regs[w.sp], s.After.Regs[w.sp]
	switch {
	case v == was && v.Kind != absint.Unknown && v.Kind != absint.OtherStack && !w.computes(s):
		return w.low
	case v.RelativeTo(w.sp):
		w.lost = false
	case v.Kind == absint.Constant:
		return w.fixed(s, v)
	case v == s.Named && v.Kind != absint.Unknown:
		low := w.computed(s)
		if w.probe != 0 {
			low = max(low, w.probe)
		}
		w.raised[v.Base] = s.In.Op == cpu.OpAdd
		w.lost = w.lost || w.raised[v.Base]
		if known, ok := w.symbols[v.Base]; !ok || low < known {
			w.symbols[v.Base] = low
		}
		return low
	case v.Kind == absint.Unknown && s.In.Writes(w.sp):
		return w.computed(s)
	}
	if low, known := w.place(v); known {
		return low
	}
	if low, known := w.masks.of(s.In); known {
		return low
	}
	if by, ok := w.code.Arch.Moved(s.In); ok {
		return w.low + by
	}
	w.lost = w.lost || foreign(v) && s.In.Writes(w.sp)
	return w.low
}

// fixed is the place of SP behind an instruction that makes SP a number: the beginning of a stack, or what was taken of it since.
// Instructions in a row build the number (lui sp; addi sp).
func (w *walk) fixed(s *dataflow.Step, v absint.Value) int64 {
	if was := s.Before.Regs[w.sp]; was.Kind != absint.Constant || s.In.Src != w.sp || w.fresh {
		w.top, w.hasTop, w.fresh = w.number(v), true, true
		return 0
	}
	return w.number(v) - w.top
}

// number is a number as an address.
func (w *walk) number(v absint.Value) int64 { return int64(uint64(v.Off) & w.code.Arch.AddrMask()) }

// computes tells whether an instruction gives SP the symbol that it had before: in a loop.
func (w *walk) computes(s *dataflow.Step) bool {
	return s.Named.Kind != absint.Unknown && s.After.Regs[w.sp] == s.Named && s.In.Writes(w.sp)
}

// doubt notes a doubt once for each place.
func (w *walk) doubt(at uint64, why Reason) {
	if d := (Doubt{at, why}); !slices.Contains(w.doubts, d) && len(w.doubts) < maxDoubts {
		w.doubts = append(w.doubts, d)
	}
}

// maxDoubts bounds the doubts of a function that are told apart.
const maxDoubts = 32
