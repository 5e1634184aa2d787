package discover

import (
	"slices"
	"sync/atomic"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/code/disasm"
)

// pointed are the places in code that words of the image point to and that look like the
// beginnings of functions. A library has hundreds of thousands of such words: whether code
// stands at a place is looked at when a question comes near.
type pointed struct {
	code   disasm.Code
	all    keys
	chunks []atomic.Pointer[keys] // of all, the places that look like functions
}

// pointedChunk is how many places are looked at together.
const pointedChunk = 64

// allPointers are the places that words of the data point to, and words of the text, known
// literals left out.
func allPointers(code disasm.Code, literals *disasm.Set) *pointed {
	found := disasm.NewSet(code)
	addPointers(found, code, false, nil)
	addPointers(found, code, true, literals)
	p := &pointed{code: code, all: found.Keys()}
	p.chunks = make([]atomic.Pointer[keys], (len(p.all)+pointedChunk-1)/pointedChunk)
	return p
}

// chunk are the places with the number i that look like functions.
func (p *pointed) chunk(i int) keys {
	if c := p.chunks[i].Load(); c != nil {
		return *c
	}
	c := functionsAt(p.code, slices.Clone(p.all[i*pointedChunk:min((i+1)*pointedChunk, len(p.all))]))
	p.chunks[i].Store(&c)
	return c
}

// index is the number of the chunk where a key is, or would be.
func (p *pointed) index(key uint64) int {
	i, _ := slices.BinarySearch(p.all, key)
	return i / pointedChunk
}

// has tells whether a place is among them.
func (p *pointed) has(at disasm.Addr) bool {
	i := p.index(at.Key())
	return i < len(p.chunks) && p.chunk(i).has(at)
}

// next is the first key from one on.
func (p *pointed) next(key uint64) (uint64, bool) {
	for i := p.index(key); i < len(p.chunks); i++ {
		if above := p.chunk(i).from(key); len(above) > 0 {
			return above[0], true
		}
	}
	return 0, false
}

// below are the addresses of the nearest n places at or below one and of its mode, nearest
// first.
func (p *pointed) below(at disasm.Addr, n int) (pcs []uint64) {
	for i := min(p.index(at.Key()), len(p.chunks)-1); i >= 0 && len(pcs) < n; i-- {
		pcs = append(pcs, p.chunk(i).below(p.code, at, n-len(pcs))...)
	}
	return pcs
}

// list are all of the places.
func (p *pointed) list() (all keys) {
	for i := range p.chunks {
		all = append(all, p.chunk(i)...)
	}
	return all
}

// pointers are the places in code that words of the text, or of what is no text, point to
// and that look like functions.
func pointers(code disasm.Code, inText bool, literals *disasm.Set) keys {
	found := disasm.NewSet(code)
	addPointers(found, code, inText, literals)
	return functionsAt(code, found.Keys())
}

// addPointers adds the places in code that words of the text, or of what is no text, point
// to. Where relocations list the words of the image that are addresses, other words are
// numbers, however much they look like addresses in a library linked at 0; else every
// aligned word counts that is no literal.
func addPointers(found *disasm.Set, code disasm.Code, inText bool, literals *disasm.Set) {
	lo, hi := code.Bounds()
	add := func(v uint64) {
		if v-lo < hi-lo {
			if at, ok := code.Pointer(v); ok && aligned(code, at) {
				found.Add(at)
			}
		}
	}
	listed := code.Img.Rebased(func(v uint64) bool {
		if !inText {
			add(v)
		}
		return !inText // else it only matters whether there is a list
	})
	for i := range code.Img.Segments {
		seg := &code.Img.Segments[i]
		if listed || seg.Exec != inText {
			continue
		}
		eachWord(code, seg, func(at, v uint64) {
			if !inText || literals == nil || !literals.Has(disasm.Addr{PC: at}) {
				add(v)
			}
		})
	}
}

// eachWord calls visit for every aligned word of a segment.
func eachWord(code disasm.Code, seg *image.Segment, visit func(at, v uint64)) {
	size := uint64(code.Arch.AddrSize)
	for off := -seg.Addr & (size - 1); off+size <= uint64(len(seg.Data)); off += size {
		visit(seg.Addr+off, bin.Uint(seg.Data[off:off+size], code.Arch.BigEndian))
	}
}

// functionsAt leaves of a list, in place, what looks like functions.
func functionsAt(code disasm.Code, list keys) keys {
	return slices.DeleteFunc(list, func(key uint64) bool { return !disasm.LooksLikeCode(code, code.Addr(key)) })
}

// aligned tells whether an instruction can begin at a place.
func aligned(code disasm.Code, at disasm.Addr) bool {
	arch := code.Arch
	if at.PC&(arch.InsnAlign-1) != 0 {
		return false
	}
	// Instructions of the ordinary set have four bytes.
	return !arch.ISABit || arch.ModeOnly || at.Mode != 0 || at.PC&3 == 0
}

// pointedTo is the place that a word points to, if that looks like a function's beginning.
func pointedTo(code disasm.Code, v uint64) (disasm.Addr, bool) {
	at, ok := code.Pointer(v)
	return at, ok && aligned(code, at) && disasm.LooksLikeCode(code, at)
}
