package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
)

// convention is the calling convention of the CPU, as far as a frame depends on it: where a function finds
// its return address on entry, and where its frame begins (the CFA).
//
//	link register   jal f    RA = ra, CFA = sp          a tail call hands RA over in ra
//	on the stack    call f   RA = [sp], CFA = sp+word   … on top of the stack
type convention struct {
	arch *cpu.Arch
	link cpu.Reg // the link register; NoReg: a call pushes the return address
	// ra and cfa are the return address and the CFA on entry, in terms of the registers there.
	ra, cfa absint.Value
}

func conventionOf(arch *cpu.Arch) convention {
	c := convention{arch: arch, link: arch.LR, ra: absint.StartOf(arch.LR), cfa: absint.StartOf(arch.SP).Plus(arch.EntryCFA)}
	if arch.CallPushesRA {
		c.link, c.ra = cpu.NoReg, absint.Pushed(arch)
	}
	return c
}

// pushes tells whether a call pushes the return address. Arguments may be pushed in front of it then, and
// popped by the callee (x86).
func (c *convention) pushes() bool { return c.link == cpu.NoReg }

// handsOver is the return address that a function finds to which code in a state jumps.
func (c *convention) handsOver(st *absint.State) absint.Value {
	if c.pushes() {
		return st.Load(st.Regs[c.arch.SP], uint8(c.arch.RegSize))
	}
	return st.Regs[c.link]
}

// reloaded tells whether the link register has been loaded from memory, as an epilogue does.
func (c *convention) reloaded(st *absint.State) bool {
	return st.Get(c.link).Kind == absint.StartMemory
}

// linked tells whether the link register, if there is one, holds the return address.
func (c *convention) linked(st *absint.State) bool {
	return c.pushes() || st.Regs[c.link].IsStartOf(c.link)
}

// popped tells whether SP stands above where a call pushed the return address: the function has taken that from the stack, and arguments
// perhaps. So GCC returns for i386 with -mfunction-return=thunk: pop %ecx; add $4,%esp; jmp __x86_return_thunk_ecx.
func (c *convention) popped(sp absint.Value) bool {
	return c.pushes() && sp.RelativeTo(c.arch.SP) && sp.Off > 0
}
