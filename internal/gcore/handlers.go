//go:build linux

package gcore

import (
	"slices"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
)

// maxHandlers bounds what is searched of one stack: what a handler and the functions that it calls have taken. maxSignalStack is more
// than stacks for handlers have.
const maxHandlers, maxSignalStack = 128 << 10, 64 << 20

// interrupted are the stack pointers of code that signals interrupted whose handlers run on stacks of their own (sigaltstack(2)): no
// thread's stack pointer leads to the stacks of that code. Where the kernel has saved the registers, it describes the handler's stack:
//
//	sp  ─► frames of the handler
//	       siginfo, ucontext: uc_flags, uc_link, uc_stack {ss_sp ≤ sp, ss_flags, ss_size}, on some processors uc_sigmask, sigcontext
//	       …
//	       ss_sp + ss_size
//
// A frame of a handler without SA_SIGINFO says nothing of its stack on ARM, i386 and MIPS o32. The first thread's stack is known
// all the same: where no stack pointer leads there, its lowest address is among those returned.
func (b *builder) interrupted() (sps []uint64) {
	layout := b.arch.Layouts[cpu.LinuxSigcontext]
	for _, sp := range b.sps() {
		i := sort.Search(len(b.pieces), func(i int) bool { return b.pieces[i].lo+uint64(len(b.pieces[i].data)) > sp })
		if i == len(b.pieces) || sp < b.pieces[i].lo {
			continue
		}
		words := b.pieces[i].data[sp-b.pieces[i].lo:]
		words = words[:min(len(words), maxHandlers)]
		for at, w := 0, b.width(); at+3*w <= len(words); at += w {
			if !b.describes(words[at:], sp, sp+uint64(at)) {
				continue
			}
			saved := b.sigcontext(sp+uint64(at+3*w)) - sp
			regs := b.arch.Read(layout, words[min(saved, uint64(len(words))):])
			if sp, ok := regs.Lookup(b.arch.SP); ok {
				sps = append(sps, sp)
			}
			break
		}
	}
	const atRandom = 25 // AT_RANDOM: bytes that the kernel has put above the first thread's frames
	first := at(b.maps, b.auxiliary(atRandom))
	if first != nil && !slices.ContainsFunc(append(b.sps(), sps...), func(sp uint64) bool { return stackOf(b.maps, sp) == first }) {
		sps = append(sps, first.Lo)
	}
	return sps
}

// auxiliary is a value of the auxiliary vector (getauxval(3)), 0 where there is none.
func (b *builder) auxiliary(kind uint64) uint64 {
	w := b.width()
	for r := bin.New(b.auxv, b.arch.BigEndian); r.Len() >= 2*w; {
		if k, v := r.Uint(w), r.Uint(w); k == kind {
			return v
		}
	}
	return 0
}

// describes tells whether words at an address are those of a stack that they and a stack pointer are on: struct sigaltstack (Linux,
// include/uapi/asm-generic/signal.h), on MIPS with the size in front of the flags.
func (b *builder) describes(words []byte, sp, addr uint64) bool {
	const onStack, disable, autodisarm = 1, 2, 1 << 31
	w := b.width()
	lo, flags, size := b.wordOf(words), b.wordOf(words[w:]), b.wordOf(words[2*w:])
	if b.arch.Name == "mips" || b.arch.Name == "mips64" {
		flags, size = size, flags
	}
	return lo != 0 && lo <= sp && size <= maxSignalStack && addr-lo < size && uint32(flags)&^(onStack|disable|autodisarm) == 0
}

// sigcontext is where the registers lie in a struct ucontext whose uc_stack ends at an address (Linux, arch/*/include/uapi/asm/ucontext.h).
func (b *builder) sigcontext(addr uint64) uint64 {
	switch b.arch.Name {
	case "aarch64", "riscv64", "riscv32":
		const mask = 1024 / 8
		return (addr + mask + 15) &^ 15
	case "mips", "mips64":
		return (addr + 7) &^ 7
	}
	return addr
}

// wordOf is the first word of some bytes.
func (b *builder) wordOf(bytes []byte) uint64 {
	if b.wide {
		return b.order.Uint64(bytes)
	}
	return uint64(b.order.Uint32(bytes))
}
