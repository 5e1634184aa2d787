package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
)

// pltWords is how many words the first entry of a PLT has pushed when it jumps to the
// dynamic linker's resolver (x86-64 psABI, "Procedure Linkage Table"; i386 psABI, same
// title; on AArch64 x16 and x30):
//
//	plt0: push GOT+8(%rip)    the module; the stub before has pushed the import's number
//	      jmp  *GOT+16(%rip)
//
//	_dl_runtime_resolve: …; call _dl_fixup; mov %rax,%r11; …; add $0x18,%rsp; jmp *%r11
//
// The resolver pops them before it goes on to the import, which makes it known: no function
// that was called jumps on with SP above its return address.
const pltWords = 2

// pushed is what lies on the stack at an entry that is jumped to: so many bytes, and on
// processors with a link register how far above SP the return address is.
type pushed struct{ bytes, ra int64 }

// start makes st the state at the entry: SP as the caller of the PLT stub left it is where
// the frame begins.
func (p pushed) start(st *absint.State, arch *cpu.Arch) {
	st.Start(arch)
	if p.bytes == 0 {
		return
	}
	sp := absint.StartOf(arch.SP).Plus(-p.bytes)
	st.Set(arch.SP, sp, arch)
	if !arch.CallPushesRA {
		st.Store(sp.Plus(p.ra), absint.StartOf(arch.LR), uint8(arch.RegSize))
	}
}

// resolves tells whether a transfer to v is that of a resolver to the import. The first one
// that is found asks for another pass, with the words of the PLT in their place. What a
// return reloads is no import: __riscv_restore_0 pops two words as well.
func (g *graph) resolves(st *absint.State, v absint.Value, t *transfer) bool {
	sp, lr, word := st.Regs[g.Arch.SP], st.Get(g.Arch.LR), int64(g.Arch.RegSize)
	if t.in.Op == cpu.OpReturn && g.Arch.CallPushesRA {
		sp = sp.Plus(word + t.in.Imm) // i386: mov %eax,(%esp); …; ret $12
	}
	if v.Kind != absint.Unknown || !sp.RelativeTo(g.Arch.SP) || sp.Off+g.pushed.bytes != pltWords*word {
		return false
	}
	switch {
	case g.pushed.bytes != 0:
		return g.Arch.CallPushesRA || lr.IsStartOf(g.Arch.LR)
	case g.Arch.CallPushesRA:
		lr = absint.Value{}
	case lr.Kind != absint.StartMemory || lr.Base != absint.Base(g.Arch.SP) || lr.Off < 0 || lr.Off >= sp.Off:
		return false
	}
	g.pushed, g.again = pushed{sp.Off, lr.Off}, true
	return true
}
