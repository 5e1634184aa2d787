package macho

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
)

// functionStarts decodes LC_FUNCTION_STARTS: ULEB128 differences, the first to the mach
// header, a zero at the end. Bit 0 is the ISA mode on ARM. The list is sorted and ends where it
// leaves __TEXT.
func (c *container) functionStarts() []uint64 {
	c.startsOnce.Do(func() {
		f := c.main
		r := bin.New(f.slice(f.starts), f.big)
		at, end := f.textAddr(), uint64(0)
		if s, ok := f.segmentNamed("__TEXT"); ok {
			end = s.addr + s.size
		}
		for r.Len() > 0 {
			d := r.ULEB()
			if at += d; d == 0 || r.Err() != nil || at >= end || at < d {
				break
			}
			c.starts = append(c.starts, at)
		}
		c.starts = slices.Clip(c.starts)
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

// FunctionAt is from the last listed start at or below an address to the next.
func (c *container) FunctionAt(addr uint64) (lo, hi uint64, ok bool) {
	starts := c.functionStarts()
	last := addr
	if c.img.Arch.ISABit {
		last |= 1
	}
	i, found := slices.BinarySearch(starts, last)
	if found {
		i++
	}
	if i == 0 {
		return 0, 0, false
	}
	lo, _ = c.img.Arch.SplitCode(starts[i-1])
	hi = ^uint64(0)
	if i < len(starts) {
		hi, _ = c.img.Arch.SplitCode(starts[i])
	}
	return lo, hi, true
}
