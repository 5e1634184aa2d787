package macho

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
)

// functionStarts decodes LC_FUNCTION_STARTS: ULEB128 differences, the first to the mach
// header, a zero at the end. Bit 0 is the ISA mode on ARM. The list is sorted; places that are
// no code, and what does not ascend, are left out.
func (c *container) functionStarts() []uint64 {
	c.startsOnce.Do(func() {
		f := c.main
		r := bin.New(f.slice(f.starts), f.big)
		at := f.textAddr()
		for r.Len() > 0 {
			d := r.ULEB()
			if d == 0 || r.Err() != nil {
				break
			}
			at = (at + d) & c.img.Arch.AddrMask()
			if pc, _ := c.img.Arch.SplitCode(at); c.img.Executable(pc) {
				c.starts = append(c.starts, at)
			}
		}
		c.starts = slices.Clip(c.starts)
		if !slices.IsSorted(c.starts) {
			slices.Sort(c.starts)
		}
	})
	return c.starts
}

// FunctionStarts calls yield for where each function begins, as the linker listed them for
// debuggers, until it returns false. ld64 and lld list all; no list is reported as false.
func (c *container) FunctionStarts(yield func(addr uint64, mode cpu.Mode) bool) bool {
	starts := c.functionStarts()
	for _, p := range starts {
		if pc, mode := c.img.Arch.SplitCode(p); !yield(pc, mode) {
			break
		}
	}
	return len(starts) > 0
}

// nextStart is the first listed start above an address, and the last one at or below; 0 where
// there is none.
func (c *container) startsAround(addr uint64) (below, above uint64) {
	starts := c.functionStarts()
	i, found := slices.BinarySearch(starts, addr|1)
	if found {
		i++
	}
	for i < len(starts) && starts[i] <= addr {
		i++
	}
	if i > 0 {
		below, _ = c.img.Arch.SplitCode(starts[i-1])
	}
	if i < len(starts) {
		above, _ = c.img.Arch.SplitCode(starts[i])
	}
	return below, above
}
