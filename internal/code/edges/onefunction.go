package edges

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/heights"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// OneFunction implements stackwalk.CallGraph. Yes takes a way through the code: where no entry is
// certain between the places, one of a function may lie there that only pointers lead to.
func (g *Graph) OneFunction(m *target.Module, a, b uint64, mode cpu.Mode) stackwalk.Answer {
	p, ok := g.in(m, a, mode)
	if !ok {
		return stackwalk.Unknown
	}
	a, b = p.at.PC, inImage(m, b)
	at, other := p.at, disasm.Addr{PC: b, Mode: mode}
	between := p.Entries.Next(min(a, b), min(a, b)) <= max(a, b)
	listed := p.Entries.Lists(a) && p.Entries.Lists(b)
	switch {
	case listed && !between, !listed && (p.holdsBoth(at, b) || p.holdsBoth(other, a)):
		return stackwalk.Yes
	case between:
		return stackwalk.No
	case p.flowHolds(a, mode, a, b) || p.flowHolds(b, mode, a, b):
		return stackwalk.Yes
	case p.beginsBetween(a, b, mode) || p.undoesOther(at, other) || p.undoesOther(other, at), p.standsAlone(at, b):
		return stackwalk.No
	}
	return stackwalk.Unknown
}

// holdsBoth tells whether control comes to both places in the function at the first place, whose
// entry is known.
func (p *program) holdsBoth(at disasm.Addr, other uint64) bool {
	if table, _ := p.Heights.Proven(at); table != nil && table.At(other) != nil {
		return true
	}
	f := p.nearest(at)
	return f != nil && follows(f, at.PC, other)
}

// beginsBetween tells whether a function begins between two places that has the later one, and has
// saved the return address there: no part of a function saves that anew.
func (p *program) beginsBetween(a, b uint64, mode cpu.Mode) bool {
	t := p.savingAt(disasm.Addr{PC: max(a, b), Mode: mode})
	return t != nil && t.Entry > min(a, b) && t.At(min(a, b)) == nil
}

// savingAt is the table of the nearest function that has the return address saved at a place, nil
// if none is known. An entry will do that data or code names.
func (p *program) savingAt(at disasm.Addr) *heights.Table {
	if p.Arch.LR == cpu.NoReg {
		return nil
	}
	table, frame := p.Heights.Proven(at)
	if table == nil {
		for _, e := range p.Entries.CandidatesBelow(at) {
			if table, frame = p.Heights.In(disasm.Addr{PC: e, Mode: at.Mode}, at.PC); frame != nil {
				break
			}
		}
	}
	if frame == nil || !frame.Saved.Has(p.Arch.LR) {
		return nil
	}
	return table
}

// undoesOther tells whether behind the call b code undoes a frame that the function with the call a
// never makes, and b is in none of that function's landing pads. Example: nothing but a
// distance from the PC leads to busybox's evalloop, which stands behind evalfun, and pops other
// registers.
func (p *program) undoesOther(a, b disasm.Addr) bool {
	t, _ := p.Heights.Proven(a)
	ra, ok := p.ReturnAddress(b)
	if t == nil || !ok {
		return false
	}
	if f := p.Flows.Function(disasm.Addr{PC: t.Entry, Mode: a.Mode}); !f.Complete || f.Contains(b.PC) {
		return false
	}
	paths := p.Flows.ReturnPaths(disasm.Addr{PC: ra, Mode: b.Mode}, true)
	for i := range paths {
		way := rules.FromPath(&paths[i], p.Arch)
		unknown := !p.Arch.CallPushesRA && paths[i].RA == (absint.Value{}) ||
			way.CFA.Kind != stackwalk.RegPlus || way.CFA.Base != p.Arch.SP || way.RA.Kind != stackwalk.AtCFA
		if unknown || makes(p.Arch, t, &way) {
			return false
		}
	}
	return len(paths) > 0
}

// makes tells whether a function may have the frame of a rule.
func makes(arch *cpu.Arch, t *heights.Table, way *stackwalk.Rule) bool {
	return slices.ContainsFunc(t.Frames, func(r heights.SavedRegs) bool {
		at, known := returnSlot(arch, t, &r)
		return arch.EntryCFA-int64(r.SP) == way.CFA.Off && (!known || at == way.CFA.Off+way.RA.Off)
	})
}

// keepsReturn tells whether a function may have its return address off bytes above SP.
func keepsReturn(arch *cpu.Arch, t *heights.Table, off int64) bool {
	return slices.ContainsFunc(t.Frames, func(r heights.SavedRegs) bool {
		at, known := returnSlot(arch, t, &r)
		return !known || at <= off && off < at+int64(arch.RegSize)
	})
}

// returnSlot is where a function keeps its return address, relative to SP; below SP, where no frame
// has anything, if the return address is in its register.
func returnSlot(arch *cpu.Arch, t *heights.Table, r *heights.SavedRegs) (off int64, known bool) {
	switch {
	case arch.CallPushesRA:
		return -int64(r.SP), true
	case r.Saved.Has(arch.LR):
		return t.SlotOf(r, arch.LR) - int64(r.SP), true
	}
	return -int64(arch.RegSize), r.Kept.Has(arch.LR)
}
