package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// Shadows implements stackwalk.CallGraph. A register that was moved by one word is no pointer to a shadow stack unless the
// function has stored its return address through that register on the way.
func (g *Graph) Shadows(m *target.Module, pc uint64, mode cpu.Mode, exact bool, r cpu.Reg) (moved int64, known bool) {
	p, ok := g.in(m, pc, mode)
	if ok && !exact {
		var call cpu.CallSite
		call, ok = p.callBefore()
		p.at.PC = inImage(m, call.Addr)
	}
	if !ok {
		return 0, false
	}
	q := question{movesPointer, p.at, uint64(r)}
	a, ok := p.memos.told.Find(q)
	if !ok {
		a = p.movement(r)
		p.memos.told.Keep(q, a)
	}
	return int64(int32(a.n)), a.Answer == stackwalk.Yes
}

// movement is by how much the function has moved register r up to the place.
func (p place) movement(r cpu.Reg) (unknown finding) {
	fn := p.holding()
	var st absint.State
	if fn == nil || !fn.StateAt(p.at, &st) || !st.Regs[r].RelativeTo(r) {
		return unknown
	}
	word, by := int64(p.Arch.AddrSize), st.Regs[r].Off
	if by == 0 || (by == word || by == -word) && p.storesLink(fn, r) {
		return finding{stackwalk.Yes, uint32(by)}
	}
	return unknown
}

// storesLink tells whether a function stores its return address through register r before the place.
func (p place) storesLink(fn *dataflow.Function, r cpu.Reg) (stores bool) {
	disasm.Each(p.Code, fn.Entry, p.at.PC, func(_ disasm.Addr, in *cpu.Insn) bool {
		stores = in.Op == cpu.OpStore && in.Base == r && in.Src == p.Arch.LR
		return !stores
	})
	return stores
}
