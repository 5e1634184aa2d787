package discover

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// farJumps are what reads as direct jumps in a large image. GCC moves code away from its function by
// megabytes (.text.unlikely), so that the code around does not tell where control comes from.
type farJumps struct {
	*refs
	code    disasm.Code
	certain *certain
}

// findFarJumps is the pass that finds them; nil where the image is not large, or no pass finds jumps.
func findFarJumps(code disasm.Code, known *certain) *farJumps {
	find := code.Jumps()
	if find == nil || !isLarge(code) {
		return nil
	}
	return &farJumps{findRefs(code, find), code, known}
}

// maxLooked bounds the jumps that are looked at closely for one place.
const maxLooked = 1 << 12

// below are the nearest n jumps over a certain entry whose targets lie at or below pc, the lowest
// target first.
func (f *farJumps) below(pc uint64, n int) (near []jump) {
	left := maxLooked
	i, has := f.pages.index(pc)
	if !has {
		i--
	}
	for ; i >= 0 && len(near) < n && left > 0; i-- {
		var page []jump
		for j := range f.to(i) {
			if j.to <= pc && left > 0 {
				if left--; f.far(j) {
					page = append(page, j)
				}
			}
		}
		slices.SortStableFunc(page, func(a, b jump) int { return cmp.Compare(a.to, b.to) })
		near = append(page, near...)
	}
	return near[max(0, len(near)-n):]
}

// far tells whether what reads as a jump is a jump in step with the code before it, over a certain
// entry.
func (f *farJumps) far(j jump) bool {
	lo, hi := min(j.from, j.to), max(j.from, j.to)
	if hi-lo <= nearBytes {
		return false
	}
	next, some := f.certain.entries.next(lo, j.to)
	if !some || next > hi {
		return false
	}
	in, ok := f.code.InStep(disasm.Addr{PC: j.from})
	return ok && in.Op == cpu.OpJump && in.Target == j.to
}
