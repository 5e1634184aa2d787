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

// handed is how an entry that is jumped to finds the return address, where that is not as
// behind a call: with so many bytes pushed, and on processors with a link register that
// far above SP, or in another register.
type handed struct {
	bytes, ra int64
	link      cpu.Reg // 0: none
}

// some tells whether anything is not as behind a call.
func (h *handed) some() bool { return h.bytes != 0 || h.link != 0 }

// start makes st the state at the entry: SP as the caller of the PLT stub left it is where
// the frame begins.
func (h *handed) start(st *absint.State, conv *convention) {
	arch := conv.arch
	st.Start(arch)
	if !h.some() {
		return
	}
	sp := absint.StartOf(arch.SP).Plus(-h.bytes)
	st.Set(arch.SP, sp, arch)
	if conv.pushes() {
		return
	}
	ra := conv.ra
	st.Forget(cpu.SetOf(conv.link)) // ARM's PLT0 goes on to use lr
	if h.link != 0 {
		st.Set(h.link, ra, arch)
		return
	}
	st.Store(sp.Plus(h.ra), ra, uint8(arch.RegSize))
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
	if g.handed.some() {
		return sp.Off == 0 && g.conv.linked(st)
	}
	if g.conv.pushes() {
		g.handed = handed{bytes: sp.Off}
		g.again = sp.Off == pltWords*word
	} else {
		g.handed, g.again = handedTo(sp.Off, st.Regs[g.conv.link], g.Arch)
	}
	if !g.again {
		g.handed = handed{}
	}
	return g.again
}

// handedTo is what the entry found, where SP stands so far above its value there when the
// resolver goes on to the import with a value in the link register. The stubs of MIPS push
// nothing, but call the resolver with the return address in t7 (MIPS supplement ch. 5,
// "Calling Position-Independent Functions"): move t7,ra; jalr t9; li t8,79.
func handedTo(up int64, lr absint.Value, arch *cpu.Arch) (handed, bool) {
	switch {
	case lr.Kind == absint.StartMemory && lr.Base == absint.Base(arch.SP):
		return handed{bytes: up, ra: lr.Off}, lr.Off >= 0 && lr.Off < up && up <= pltWords*int64(arch.RegSize)
	case lr.Kind == absint.StartRelative && lr.OfRegister() && up == 0:
		link := cpu.Reg(lr.Base)
		return handed{link: link}, lr.Off == 0 && link != arch.LR && !arch.Preserved.Has(link) && link != 0
	}
	return handed{}, false
}
