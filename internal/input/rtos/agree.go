package rtos

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
)

// agree marks tasks whose contexts nothing proves. A kernel that switches by calls keeps no status word, and any words of which one
// lies behind a call look like such a context. But who waits has called the kernel's switch, or a function that ends in a jump there:
// a context of another call is what somebody wrote over it.
func (s *search) agree(tasks []Task) {
	reached := make([][]uint64, len(tasks)) // by task
	votes, most, called := make(map[uint64]int), uint64(0), 0
	for i := range tasks {
		regs := &tasks[i].Regs
		if regs.Known.Has(s.code.snap.Arch.LR) {
			continue // saved by an exception
		}
		if reached[i] = s.code.reaches(regs.Val[s.code.snap.Arch.PC]); len(reached[i]) > 0 {
			called++
		}
		for _, to := range reached[i] {
			if votes[to]++; votes[to] > votes[most] || votes[to] == votes[most] && to < most {
				most = to
			}
		}
	}
	if 2*votes[most] <= called {
		return
	}
	for i := range tasks {
		if len(reached[i]) > 0 && !slices.Contains(reached[i], most) {
			tasks[i].overwritten = true
		}
	}
}

// reaches are the function that the call before a return address calls, and those that the first instructions there jump to; none
// where no direct call stands before.
func (c code) reaches(raw uint64) (to []uint64) {
	const most = 96 // instructions
	pc, mode := c.snap.Arch.SplitCode(raw)
	site, kind := callsite.Before(c.snap, pc, mode)
	m, ok := c.snap.ModuleAt(site.Target)
	if kind != callsite.Call || !site.Direct || !ok || m.Image == nil {
		return nil
	}
	var in [most]cpu.Insn
	at := m.ToImage(site.Target)
	n := m.Image.Arch.Decoder.Decode(m.Image.Segments.Code(at), at, site.TargetMode, in[:])
	to = append(to, site.Target)
	for _, insn := range in[:n] {
		if target := m.ToTarget(insn.Target); insn.Op == cpu.OpJump && insn.Target != 0 && !slices.Contains(to, target) {
			to = append(to, target)
		}
	}
	return to
}
