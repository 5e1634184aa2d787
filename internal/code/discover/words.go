package discover

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/code/disasm"
)

// pointedChunk is how many places that words point to are looked at together.
const pointedChunk = 64

// pointed are the places in code that words of the image point to and that look like the beginnings
// of functions.
type pointed struct {
	*places
	words int // so many places words point to
}

// allPointers are the places that words of the data point to, and words of the text, known
// literals left out.
func allPointers(code disasm.Code, literals *disasm.Set) *pointed {
	found := disasm.NewSet(code)
	addPointers(found, code, false, nil)
	addPointers(found, code, true, literals)
	all := keys(found.Keys())
	index := func(key uint64) int {
		i, _ := slices.BinarySearch(all, key)
		return i / pointedChunk
	}
	find := func(i int) keys {
		return functionsAt(code, slices.Clone(all[i*pointedChunk:min((i+1)*pointedChunk, len(all))]))
	}
	return &pointed{words: len(all), places: newPlaces(code, (len(all)+pointedChunk-1)/pointedChunk, index, find)}
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
		if at, ok := code.Pointer(v); ok && aligned(code, at) {
			found.Add(at)
		}
	}
	listed := code.Img.Rebased(func(v uint64) bool {
		if !inText && v-lo < hi-lo {
			add(v)
		}
		return !inText // else it only matters whether there is a list
	})
	for i := range code.Img.Segments {
		seg := &code.Img.Segments[i]
		if listed || seg.Exec != inText {
			continue
		}
		seen := passing{code: code}
		eachWord(code, seg, span{lo, hi}, func(at, v uint64) {
			seen.at(at)
			if !inText || !isLiteral(literals, disasm.Addr{PC: at}) {
				add(v)
			}
		})
	}
}

// eachWord calls visit for every aligned word of a segment that lies in a range. Most lie in none:
// node has 50 MB of them.
func eachWord(code disasm.Code, seg *image.Segment, in span, visit func(at, v uint64)) {
	size, order := uint64(code.Arch.AddrSize), bin.Order(code.Arch.BigEndian)
	at := seg.Addr + -seg.Addr&(size-1)
	data := seg.Data[min(at-seg.Addr, uint64(len(seg.Data))):]
	for ; uint64(len(data)) >= size; data, at = data[size:], at+size {
		v := uint64(order.U32(data))
		if size == 8 {
			v = order.U64(data)
		}
		if v-in.lo < in.hi-in.lo {
			visit(at, v)
		}
	}
}

// functionsAt leaves of a list, in place, what looks like functions.
func functionsAt(code disasm.Code, list keys) keys {
	cursor := disasm.NewCursor(code)
	return slices.DeleteFunc(list, func(key uint64) bool {
		at := code.Addr(key)
		return !cursor.LooksLikeCode(at) || isGOTPage(code, at)
	})
}

// gotPageSize is what an entry of MIPS' GOT for local data is a multiple of, in bytes: code adds the
// lower half of an address to it (System V ABI, MIPS supplement, chapter 4: R_MIPS_GOT16; n64:
// R_MIPS_GOT_PAGE).
const gotPageSize = 1 << 16

// isGOTPage tells whether what points to a place is the upper half of some address rather than a
// pointer to a function: the code in front leads into the place. In Debian's python3 for mips64el
// such a page begins in a prologue:
//
//	12013fff0 <f>:  daddiu sp,sp,-32
//	12013fffc:      lui    gp,0x58
//	120140000:      daddu  gp,gp,t9
func isGOTPage(code disasm.Code, at disasm.Addr) bool {
	return code.Arch.GPBias != 0 && at.PC%gotPageSize == 0 && leadsInto(code, at, make([]cpu.Insn, 2))
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
	return at, ok && aligned(code, at) && disasm.LooksLikeCode(code, at) && !isGOTPage(code, at)
}
