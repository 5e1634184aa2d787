package dataflow

import (
	"fmt"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/code/heights"
	"github.com/backsight/backsight/internal/synth/codetest"
)

func at(pc uint64) disasm.Addr { return disasm.Addr{PC: pc} }

func thumb(pc uint64) disasm.Addr { return disasm.Addr{PC: pc, Mode: 1} }

// analysis is that of a program.
func analysis(t testing.TB, p codetest.Program) *Analysis { return of(p.Image(t)) }

func of(img *image.Image) *Analysis {
	c := disasm.Of(img)
	entries := discover.New(c, nil)
	tables := heights.New(c, entries)
	return New(c, entries, tables.Effects(), tables)
}

// state is what is known at a place, in the terms of the entry: how far SP is from where SP
// was, and where the return address is.
//
//	sp-24 ra            in the link register
//	sp-24 [sp-4]        in the slot at that distance from SP on entry
//	sp-24 lost          nobody knows
//
// "not reached": control from the entry does not come to the place.
func state(f *Function, pc uint64) string {
	var st absint.State
	if !f.StateAt(disasm.Addr{PC: pc, Mode: f.Entry.Mode}, &st) {
		return "not reached"
	}
	a := f.an.Arch
	sp := st.Regs[a.SP]
	s := "sp unknown"
	if sp.RelativeTo(a.SP) {
		s = fmt.Sprintf("sp%+d", sp.Off)
	}
	return s + returnAddress(&st, a)
}

func returnAddress(st *absint.State, a *cpu.Arch) string {
	if a.CallPushesRA {
		return ""
	}
	if st.Regs[a.LR].IsStartOf(a.LR) {
		return " ra"
	}
	for _, s := range st.Slots {
		if s.Val.IsStartOf(a.LR) && s.Address().RelativeTo(a.SP) {
			return fmt.Sprintf(" [sp%+d]", s.Off)
		}
	}
	return " lost"
}

// check compares the states of a function at some places.
func check(t *testing.T, f *Function, want map[uint64]string) {
	t.Helper()
	for pc, w := range want {
		if got := state(f, pc); got != w {
			t.Errorf("at %x: %s, want %s", pc, got, w)
		}
	}
}
