package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
)

// pltWords is how many words the first entry of a PLT has pushed at most when it jumps to
// the dynamic linker's resolver (x86-64 psABI, "Procedure Linkage Table"; i386 psABI, same
// title; on AArch64 x16 and x30, on ARM lr alone):
//
//	plt0: push GOT+8(%rip)    the module; the stub before has pushed the import's number
//	      jmp  *GOT+16(%rip)
//
//	_dl_runtime_resolve: …; call _dl_fixup; mov %rax,%r11; …; add $0x18,%rsp; jmp *%r11
//
// The resolver pops them before it goes on to the import, which makes it known: no function
// that was called jumps on with SP above its return address.
const pltWords = 2

// pltFrame is where a resolver of the dynamic linker finds the return address, as the PLT that jumps there leaves
// it: with some bytes pushed, and on processors with a link register in a word above SP or in another
// register.
type pltFrame struct {
	bytes, ra int64
	link      cpu.Reg // 0: none
}

// some tells whether anything differs from a call's convention.
func (p *pltFrame) some() bool { return p.bytes != 0 || p.link != 0 }

// start makes st the state at the entry: SP as the caller of the PLT stub left it is where
// the frame begins.
func (p *pltFrame) start(st *absint.State, conv *convention) {
	arch := conv.arch
	st.Start(arch)
	if !p.some() {
		return
	}
	sp := absint.StartOf(arch.SP).Plus(-p.bytes)
	st.Set(arch.SP, sp, arch)
	if conv.pushes() {
		return
	}
	ra := conv.ra
	st.Forget(cpu.SetOf(conv.link)) // ARM's PLT0 goes on to use lr
	if p.link != 0 {
		st.Set(p.link, ra, arch)
		return
	}
	st.Store(sp.Plus(p.ra), ra, uint8(arch.RegSize))
}

// resolves tells whether a transfer to v is that of a resolver to the import. The first one
// that is found asks for another pass, with the words of the PLT in their place. What a
// return reloads is no import: __riscv_restore_0 pops two words as well; nor do guesses tell,
// such as the element behind a table, which leads into the next function.
func (g *graph) resolves(st *absint.State, v absint.Value, t *transfer) bool {
	sp, word := st.Regs[g.Arch.SP], int64(g.Arch.RegSize)
	if t.In.Op == cpu.OpReturn && g.conv.pushes() {
		sp = sp.Plus(word + t.In.Imm) // i386: mov %eax,(%esp); …; ret $12
	}
	if v.Kind != absint.Unknown || !sp.RelativeTo(g.Arch.SP) || g.doubt != edgeEntry {
		return false
	}
	if g.pltFrame.some() {
		return sp.Off == 0 && g.conv.linked(st)
	}
	if g.conv.pushes() {
		g.pltFrame = pltFrame{bytes: sp.Off}
		g.again = sp.Off == pltWords*word
	} else {
		g.pltFrame, g.again = pltFrameAt(sp.Off, st.Regs[g.conv.link], g.Arch)
	}
	if !g.again {
		g.pltFrame = pltFrame{}
	}
	return g.again
}

// pltFrameAt is what the entry found, where SP stands so far above its value there when the
// resolver goes on to the import with a value in the link register. The stubs of MIPS push
// nothing, but call the resolver with the return address in t7 (MIPS supplement ch. 5,
// "Calling Position-Independent Functions"): move t7,ra; jalr t9; li t8,79.
func pltFrameAt(up int64, lr absint.Value, arch *cpu.Arch) (pltFrame, bool) {
	switch {
	case lr.Kind == absint.StartMemory && lr.Base == absint.Base(arch.SP):
		return pltFrame{bytes: up, ra: lr.Off}, lr.Off >= 0 && lr.Off < up && up <= pltWords*int64(arch.RegSize)
	case lr.Kind == absint.StartRelative && lr.OfRegister() && up == 0:
		link := cpu.Reg(lr.Base)
		return pltFrame{link: link}, lr.Off == 0 && link != arch.LR && !arch.Preserved.Has(link) && link != 0
	}
	return pltFrame{}, false
}
