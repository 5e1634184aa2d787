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

// maxRun bounds the instructions in front of a call among landing pads that are looked at.
const maxRun = 16

// LandingPadCallSlot is CallSlot for a call behind f's entry to which no flow comes: of a landing pad, where gp has the
// value that gp has behind f's calls. In cmake for MIPS, the pad at 0x380500 of mipsel's so calls operator delete:
//
//	lw   gp,16(sp)
//	lw   a1,68(sp)
//	lw   t9,-8276(gp)
//	jalr t9
func LandingPadCallSlot(f *Function, site disasm.Addr) (slot uint64, ok bool) {
	arch := f.an.Arch
	back := maxRun * max(arch.InsnAlign, 1)
	if arch.Globals == 0 || f.BehindCalls == "" || site.Mode != f.Entry.Mode || site.PC < f.Entry.PC+back {
		return 0, false
	}
	var st absint.State
	f.BehindCalls.Decode(&st)
	gp := st.Get(arch.Globals.First())
	var buf [maxRun + 1]cpu.Insn
	loaded, pc := cpu.NoReg, site.PC-back
	for _, in := range buf[:f.an.Decode(disasm.Addr{PC: pc, Mode: site.Mode}, buf[:])] {
		switch {
		case pc == site.PC:
			return slot, in.Op == cpu.OpCall && in.Src != cpu.NoReg && in.Src == loaded && in.Imm == 0
		case disasm.Transfers(&in, arch):
			loaded = cpu.NoReg
		case in.Op == cpu.OpLoad && arch.Globals.Has(in.Base) && in.Index == cpu.NoReg && int(in.Size) == arch.AddrSize && gp.Kind == absint.Constant:
			loaded, slot = in.Dst, uint64(gp.Off+in.Imm)&arch.AddrMask()
		case in.Writes(loaded):
			loaded = cpu.NoReg
		}
		pc += uint64(in.Len)
	}
	return 0, false
}

// loadedFrom is the address from which the block of a call has loaded what a register holds at the call.
func loadedFrom(f *Function, site disasm.Addr, r cpu.Reg) (a absint.Value) {
	b, _ := f.blocks.at(site.PC)
	var st absint.State
	b.in.Decode(&st)
	straight(f, b, func(in *cpu.Insn, pc uint64) {
		at := st.Operand(in)
		if f.interp.Exec(&st, in, pc); pc > site.PC || !in.Writes(r) {
			return // such as the call's delay slot, which runs when the target is read
		}
		a = absint.Value{}
		if in.Op == cpu.OpLoad && in.Dst == r && in.Flags&cpu.FlagConditional == 0 && int(in.Size) == f.an.Arch.AddrSize {
			a = at
		}
	})
	return a
}
