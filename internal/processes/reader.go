package processes

import (
	"context"
	"iter"
)

// pageSize is the smallest page.
const pageSize = 4096

// reader reads the kernel's memory.
type reader struct {
	*Kernel
	ctx  context.Context // ends all searches
	word uint64          // bytes of one
}

// at is the word at an address, 0 where there is none.
func (r reader) at(addr uint64) uint64 {
	v, _ := r.Memory.Word(addr)
	return v
}

// isKernel tells whether a word can be the address of a structure of the kernel.
func (r reader) isKernel(p uint64) bool { return p>>(8*r.word-1) == 1 && p%r.word == 0 }

// isUser tells whether lo to hi can be mapped in a program.
func (r reader) isUser(lo, hi uint64) bool {
	return lo < hi && lo%pageSize == 0 && hi%pageSize == 0 && (r.word == 4 || hi>>(8*r.word-1) == 0)
}

// offsets are those at which a field may lie: first where types say that one of the paths leads, then all up to end, by words.
func (r reader) offsets(end uint64, structure string, paths ...[]string) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, path := range paths {
			if r.Types == nil {
				break
			}
			if off, ok := r.Types(structure, path...); ok && off%r.word == 0 && off < 8*pageSize {
				if !yield(off) {
					return
				}
				break
			}
		}
		for off := uint64(0); off < end && r.ctx.Err() == nil && yield(off); off += r.word {
		}
	}
}
