package edges

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/heights"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/unwind"
)

// twoCalls compares the places of two calls, in the code of one image and mode.
type twoCalls struct {
	*program
	mode cpu.Mode
}

// apart tells whether two calls are certainly of two functions.
func (p twoCalls) apart(a, b uint64) bool {
	return p.beginsBetween(a, b) || p.undoesOther(a, b) || p.undoesOther(b, a)
}

// beginsBetween tells whether a function begins between two places that has the later one, and has
// saved the return address there: no part of a function saves that anew.
func (p twoCalls) beginsBetween(a, b uint64) bool {
	t := p.savingAt(disasm.Addr{PC: max(a, b), Mode: p.mode})
	return t != nil && t.Entry > min(a, b) && t.At(min(a, b)) == nil
}

// savingAt is the table of the nearest function that has the return address saved at a place, nil
// if none is known. An entry will do that data or code names.
func (p twoCalls) savingAt(at disasm.Addr) *heights.Table {
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

// undoesOther tells whether behind the call b code undoes a frame that the function which has the
// call a never makes: b is none of the function's landing pads either. Example: nothing but a
// distance from the PC leads to busybox's evalloop, which stands behind evalfun, and pops other
// registers.
func (p twoCalls) undoesOther(a, b uint64) bool {
	t, _ := p.Heights.Proven(disasm.Addr{PC: a, Mode: p.mode})
	ra, ok := p.ReturnAddress(disasm.Addr{PC: b, Mode: p.mode})
	if t == nil || !ok {
		return false
	}
	if f := p.Flows.Function(disasm.Addr{PC: t.Entry, Mode: p.mode}); !f.Complete || f.Contains(b) {
		return false
	}
	paths := p.Flows.ReturnPaths(disasm.Addr{PC: ra, Mode: p.mode}, true)
	for i := range paths {
		way := rules.FromPath(&paths[i], p.Arch)
		unknown := !p.Arch.CallPushesRA && paths[i].RA == (absint.Value{}) ||
			way.CFA.Kind != unwind.RegPlus || way.CFA.Base != p.Arch.SP || way.RA.Kind != unwind.AtCFA
		if unknown || makes(p.Arch, t, &way) {
			return false
		}
	}
	return len(paths) > 0
}

// makes tells whether a function may have the frame of a rule.
func makes(arch *cpu.Arch, t *heights.Table, way *unwind.Rule) bool {
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
