package kernellog

import (
	"slices"

	"github.com/backsight/backsight/target"
)

// withStackWords completes a chain by the printed stack, where code of modules is missing: where
// the chain ends before the outermost frame, by the words that may be return addresses. Where
// such words lie between a frame without code and its caller in the chain, frames may be
// missing: what the kernel reads out of prologues goes wrong at times (MIPS). It lists
//
//	leaf_deref ◄ crashy_write ◄ security_file_permission ◄ vfs_write
//
// while the stack has the return address to proc_reg_write in front of the stale one. With the
// kernel's code at hand such words are listed too: code tells which are frames.
func withStackWords(listed []target.Listed, r *record, b *binaries) []target.Listed {
	words := r.stack.values()
	if r.reg("sp", "$29", "$28") == nil || len(listed) == 0 || len(words) == 0 {
		return listed
	}
	all := listed[:1:1]
	for i := 1; i < len(listed); i++ {
		l := listed[i]
		if at := slices.Index(words, l.PC); at >= 0 { // else in the link register, or beyond what is printed
			if b.lacksCode(listed[i-1].PC) {
				between := b.pointers(words[:at], listed)
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
		all = append(all, b.pointers(words, listed)...)
	}
	return all
}

// maxPointers bounds the words of a stack that are added between two entries of a chain.
const maxPointers = 16

// pointers are the words that may be return addresses: behind calls of the kernel, or in a module
// whose code is missing; without the kernel's file, those among the addresses that are listed.
func (b *binaries) pointers(words []uint64, listed []target.Listed) (list []target.Listed) {
	span := target.Range{Lo: ^uint64(0)}
	for i := range listed {
		if pc := listed[i].PC; b.kernel == nil && pc != 0 && !b.lacksCode(pc) {
			span.Lo, span.Hi = min(span.Lo, pc), max(span.Hi, pc)
		}
	}
	for _, v := range words {
		if len(list) < maxPointers && (span.Contains(v) || b.mayReturnTo(v)) {
			list = append(list, target.Listed{PC: v, Searched: true})
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

// lacksCode tells whether a place is in a module whose file was not found.
func (b *binaries) lacksCode(pc uint64) bool {
	for _, m := range b.modules {
		if m.Image == nil && m.Contains(pc) {
			return true
		}
	}
	return false
}
