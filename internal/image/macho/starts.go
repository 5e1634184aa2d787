package macho

import (
	"slices"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
)

// starts is LC_FUNCTION_STARTS: where each function begins, as the linker listed them for
// debuggers. ld64 and lld list all.
type starts struct {
	once sync.Once
	list []uint64 // sorted; bit 0 is the ISA mode on ARM
}

// of decodes the list of a file, once: ULEB128 differences, the first to the mach header, a zero
// at the end. The list ends where it leaves __TEXT.
func (s *starts) of(f *file) []uint64 {
	s.once.Do(func() {
		data := f.slice(f.linkedit.starts)
		at, end := f.textAddr(), uint64(0)
		if text, ok := f.segmentNamed("__TEXT"); ok {
			end = text.addr + text.size
		}
		s.list = make([]uint64, 0, numbers(data))
		for r := bin.New(data, f.big); r.Len() > 0; {
			d := r.ULEB()
			if at += d; d == 0 || r.Err() != nil || at >= end || at < d {
				break
			}
			s.list = append(s.list, at)
		}
	})
	return s.list
}

// numbers is how many LEB128 numbers bytes hold: each ends with a byte below 0x80.
func numbers(data []byte) (n int) {
	for _, b := range data {
		n += int(^b >> 7)
	}
	return n
}

// FunctionStarts calls yield for where each function begins until it returns false; no list is
// reported as false.
func (c *container) FunctionStarts(yield func(addr uint64, mode cpu.Mode) bool) bool {
	list := c.starts.of(c.main)
	for _, p := range list {
		if pc, mode := c.img.Arch.SplitCode(p); !yield(pc, mode) {
			break
		}
	}
	return len(list) > 0
}

// FunctionAt is from the last listed start at or below an address to the next.
func (c *container) FunctionAt(addr uint64) (lo, hi uint64, mode cpu.Mode, ok bool) {
	list := c.starts.of(c.main)
	last := addr
	if c.img.Arch.ISABit {
		last |= 1
	}
	i, found := slices.BinarySearch(list, last)
	if found {
		i++
	}
	if i == 0 {
		return 0, 0, 0, false
	}
	lo, mode = c.img.Arch.SplitCode(list[i-1])
	hi = ^uint64(0)
	if i < len(list) {
		hi, _ = c.img.Arch.SplitCode(list[i])
	}
	return lo, hi, mode, true
}
