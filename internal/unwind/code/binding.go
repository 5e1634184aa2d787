package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
)

// maxBinding is how many instructions lead from a PLT stub to the dynamic linker at most.
const maxBinding = 16

// Binding implements unwind.CallGraph: it executes the stub as if its GOT entry held what the
// file holds there, and looks what lies below the return address then.
//
//	x86-64                             AArch64
//	stub: jmp  *GOT[n](%rip)           stub: adrp x16,GOT; ldr x17,[x16,#n]; add x16,x16,#n; br x17
//	      push $n-3
//	      jmp  PLT0
//	PLT0: push GOT[1](%rip)            PLT0: stp x16,x30,[sp,#-16]!
//	      jmp  *GOT[2](%rip)                 adrp x16,…; ldr x17,…; br x17
func (s *Source) Binding(snap *target.Snapshot, entry uint64, mode cpu.Mode) (word uint64, ok bool) {
	m, p := moduleAt(s, snap, entry)
	if p == nil {
		return 0, false
	}
	at := disasm.Addr{PC: inImage(m, entry), Mode: mode}
	slot, ok := p.callees.StubSlot(at)
	if !ok {
		return 0, false
	}
	if _, captured := snap.Memory.Word(m.ToTarget(slot)); captured {
		return 0, false // the captured word says where the stub goes
	}
	v := p.leavesForBinding(at, slot)
	switch {
	case v.Kind != absint.Constant:
		return 0, false
	case p.Arch.CallPushesRA: // the import's number
		return uint64(v.Off) & p.Arch.AddrMask(), true
	}
	return m.ToTarget(uint64(v.Off) & p.Arch.AddrMask()), true // the address of its GOT entry
}

// leavesForBinding is the word below the return address where the stub at a place has come to
// the dynamic linker.
func (p *program) leavesForBinding(at disasm.Addr, slot uint64) absint.Value {
	exec := absint.New(p.Code)
	var st absint.State
	st.Start(p.Arch)
	size := int64(p.Arch.RegSize)
	below := absint.StartOf(p.Arch.SP).Plus(p.Arch.EntryCFA - 2*size)
	bound := false
	var in cpu.Insn
	for range maxBinding {
		if !p.One(at, &in) {
			break
		}
		indirect := in.Op == cpu.OpJump && disasm.IndirectJump(&in)
		switch {
		case indirect && bound:
			return st.Load(below, uint8(size))
		case indirect:
			first, ok := p.Img.Word(slot)
			if bound = ok; !ok {
				return absint.Value{}
			}
			at.PC, at.Mode = p.Arch.SplitCode(first)
			continue
		case in.Op == cpu.OpJump && in.Flags&cpu.FlagConditional == 0:
			at = disasm.Target(&in)
			continue
		case in.Op == cpu.OpCall || in.Op == cpu.OpReturn || in.Op == cpu.OpJump:
			return absint.Value{}
		}
		exec.Exec(&st, &in, at.PC)
		if n, ok := p.pushedNumber(&in, at.PC); ok {
			st.Store(st.Get(p.Arch.SP), absint.Const(n), in.Size)
		}
		at.PC += uint64(in.Len)
	}
	return absint.Value{}
}

// pushLen is the length of x86's push of a number of 32 bits, which the number ends.
const pushLen = 5

// pushedNumber is the number that x86's push at a place pushes: instructions keep no immediate
// beside the displacement.
func (p *program) pushedNumber(in *cpu.Insn, pc uint64) (int64, bool) {
	if !p.Arch.CallPushesRA || in.Op != cpu.OpStore || in.Base != p.Arch.SP || in.WB >= 0 || in.Src != cpu.NoReg || in.Len != pushLen {
		return 0, false
	}
	n, ok := p.Img.Uint(pc+1, 4)
	return int64(int32(n)), ok
}
