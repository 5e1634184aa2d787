package discover

import (
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/code/disasm"
)

// allPointers are the places in code that words of the image point to, of the data and of
// the text, known literals left out.
func allPointers(code disasm.Code, literals *disasm.Set) keys {
	return sorted(append(pointers(code, false, nil), pointers(code, true, literals)...))
}

// pointers are the places in code that words of the text, or of what is no text, point to.
// Where relocations list the words of the image that are addresses, other words are
// numbers, however much they look like addresses in a library linked at 0; else every
// aligned word counts that is no literal and that looks like a pointer to a function.
func pointers(code disasm.Code, inText bool, literals *disasm.Set) (found keys) {
	lo, hi := code.Bounds()
	listed := code.Img.Rebased(func(v uint64) bool {
		if !inText && v-lo < hi-lo {
			found = append(found, v)
		}
		return !inText // else it only matters whether there is a list
	})
	for i := range code.Img.Segments {
		seg := &code.Img.Segments[i]
		if listed || seg.Exec != inText {
			continue
		}
		eachWord(code, seg, func(at, v uint64) {
			literal := inText && literals != nil && literals.Has(disasm.Addr{PC: at})
			if v-lo < hi-lo && !literal {
				found = append(found, v)
			}
		})
	}
	return slices.DeleteFunc(sorted(found), func(v uint64) bool {
		_, ok := pointedTo(code, v)
		return !ok
	})
}

// eachWord calls visit for every aligned word of a segment.
func eachWord(code disasm.Code, seg *image.Segment, visit func(at, v uint64)) {
	size := uint64(code.Arch.AddrSize)
	for off := -seg.Addr & (size - 1); off+size <= uint64(len(seg.Data)); off += size {
		visit(seg.Addr+off, bin.Uint(seg.Data[off:off+size], code.Arch.BigEndian))
	}
}

// pointedTo is the place that a word points to, if that looks like a function's beginning.
func pointedTo(code disasm.Code, v uint64) (disasm.Addr, bool) {
	arch := code.Arch
	at, ok := code.Pointer(v)
	if !ok || at.PC&(arch.InsnAlign-1) != 0 {
		return at, false
	}
	if arch.ISABit && !arch.ModeOnly && at.Mode == 0 && at.PC&3 != 0 {
		return at, false // instructions of the ordinary set have four bytes
	}
	return at, disasm.LooksLikeCode(code, at)
}
