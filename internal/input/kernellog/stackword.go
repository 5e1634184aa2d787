package kernellog

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// withStackWords completes a chain by the printed stack, where code of modules is missing: where
// the chain ends before the outermost frame, by the words that may be return addresses. Where
// such words lie between a frame without code and its caller in the chain, frames may be
// missing on MIPS: what the kernel reads out of prologues goes wrong at times. It lists
//
//	leaf_deref ◄ crashy_write ◄ security_file_permission ◄ vfs_write
//
// while the stack has the return address to proc_reg_write in front of the stale one. With the
// kernel's code at hand such words are listed too: code tells which are frames.
func withStackWords(e *evidence, listed []target.Listed) []target.Listed {
	words, b := e.stack.values(), e.binaries
	if e.reg("sp", "$29", "$28") == nil || len(listed) == 0 || len(words) == 0 {
		return listed
	}
	all := listed[:1:1]
	for i := 1; i < len(listed); i++ {
		l := listed[i]
		if at := slices.Index(words, l.PC); at >= 0 { // else in the link register, or beyond what is printed
			if e.has(searches) && b.lacksCode(listed[i-1].PC) {
				between := b.pointers(words[:at], words[at:], listed, listed[i-1].PC)
				l.Gap = l.Gap || len(between) > 0
				if b.kernel != nil && b.kernel.Contains(l.PC) {
					all = append(all, b.inKernel(between)...)
				}
			}
			words = words[at+1:]
		}
		all = append(all, l)
	}
	if last := &listed[len(listed)-1]; b.kernel != nil && b.lacksCode(last.PC) && !last.Outermost {
		all = append(all, b.pointers(words, nil, listed, last.PC)...)
	}
	return all
}

// maxPointers bounds the words of a stack that are added between two entries of a chain.
const maxPointers = 16

// pointers are the words that may be return addresses of the callers of the frame at inner: behind calls of the kernel,
// or in a module whose code is missing; without the kernel's file, those among the addresses that are listed. behind
// are the words further out.
func (b *binaries) pointers(words, behind []uint64, listed []target.Listed, inner uint64) (list []target.Listed) {
	span := target.Range{Lo: ^uint64(0)}
	for i := range listed {
		if pc := listed[i].PC; b.kernel == nil && pc != 0 && !b.lacksCode(pc) {
			span.Lo, span.Hi = min(span.Lo, pc), max(span.Hi, pc)
		}
	}
	behind = slices.Concat(words, behind)
	for i, v := range words {
		if len(list) < maxPointers && (span.Contains(v) || b.mayReturnTo(v)) && !b.isCallee(v, inner, behind[i+1:]) {
			list, inner = append(list, target.Listed{PC: v, Searched: true}), v
		}
	}
	return list
}

// inKernel are the entries in the kernel's code.
func (b *binaries) inKernel(list []target.Listed) []target.Listed {
	return slices.DeleteFunc(list, func(l target.Listed) bool { return !b.kernel.Contains(l.PC) })
}

func (b *binaries) mayReturnTo(v uint64) bool {
	pc, mode := b.arch.SplitCode(v)
	if b.kernel != nil && b.kernel.Contains(pc) && b.arch.Decoder != nil {
		return isBehindCall(b.kernel, pc, mode)
	}
	return b.lacksCode(pc)
}

// isCallee tells whether a word in a module without code is where the function of the frame at inner begins, and no
// return address: the kernel called it through a register that functions preserve, and so the function saved it
// right before the return address, together with the other such registers. behind are the words further out.
//
//	c065f5a0: blx r5
//	stack     c1cced80 bf000664 00000001 c1d2f3c0 c065f5a4     push {r4, r5, r6, r7, lr}
func (b *binaries) isCallee(v, inner uint64, behind []uint64) bool {
	if b.kernel == nil || b.arch.Decoder == nil || b.kernel.Contains(v) || v >= inner {
		return false
	}
	for i, w := range behind[:min(len(behind), b.arch.Preserved.Len())] {
		pc, mode := b.arch.SplitCode(w)
		if b.kernel.Contains(pc) && isBehindCall(b.kernel, pc, mode) {
			through := calledThrough(b.kernel, pc, mode)
			above := b.arch.Preserved &^ (1<<(through+1) - 1)
			return b.arch.Preserved.Has(through) && i <= above.Len()
		}
	}
	return false
}

// calledThrough is the register that the call before pc goes through, NoReg for none.
func calledThrough(m *target.Module, pc uint64, mode cpu.Mode) cpu.Reg {
	at := m.ToImage(pc)
	code := m.Image.Segments.Before(at, 16)
	site, ok := m.Image.Arch.Decoder.CallBefore(code, at, mode)
	size := int(at - site.Addr)
	var in [1]cpu.Insn
	if !ok || size > len(code) || m.Image.Arch.Decoder.Decode(code[len(code)-size:], site.Addr, mode, in[:]) != 1 || in[0].Op != cpu.OpCall || in[0].Flags&cpu.FlagMemory != 0 {
		return cpu.NoReg
	}
	return in[0].Src
}
