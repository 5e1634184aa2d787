package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// CallSlot is the image address of the word that the indirect call at a site reads its
// target from, where that is a constant: a GOT entry. Code for MIPS loads the word into a
// register first:
//
//	lw   t9,-21124(gp)
//	jalr t9
func (f *Function) CallSlot(site disasm.Addr) (uint64, bool) {
	var st absint.State
	var in cpu.Insn
	if !f.StateAt(site, &st) || !f.an.One(site, &in) || in.Op != cpu.OpCall {
		return 0, false
	}
	a := absint.Value{}
	switch {
	case in.Flags&cpu.FlagMemory != 0:
		a = st.Operand(&in)
	case in.Src != cpu.NoReg && in.Imm == 0:
		a = loadedFrom(f, site, in.Src)
	}
	return uint64(a.Off) & f.an.Arch.AddrMask(), a.Kind == absint.Constant
}

// loadedFrom is the address from which the block of a call has loaded what a register holds at the call.
func loadedFrom(f *Function, site disasm.Addr, r cpu.Reg) (a absint.Value) {
	b, _ := f.blocks.at(site.PC)
	var st absint.State
	b.in.Decode(&st)
	straight(f, b, func(in *cpu.Insn, pc uint64) {
		at := st.Operand(in)
		if f.interp.Exec(&st, in, pc); pc > site.PC || !disasm.Writes(in, r) {
			return // such as the call's delay slot, which runs when the target is read
		}
		a = absint.Value{}
		if in.Op == cpu.OpLoad && in.Dst == r && in.Flags&cpu.FlagConditional == 0 && int(in.Size) == f.an.Arch.AddrSize {
			a = at
		}
	})
	return a
}
