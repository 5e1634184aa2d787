package cfi

import (
	"cmp"
	"slices"
)

// index is what stands in for a missing or damaged .eh_frame_hdr, and for
// .debug_frame, which never has one: the FDEs of a section by start, 8 bytes
// each. Starts are relative to base.
type index struct {
	base  uint64
	items []item
	// damaged: some entries could not be read, and may have covered addresses for which no
	// entry is found.
	damaged bool
}

type item struct{ start, off uint32 }

// buildIndex walks a section once. FDEs of functions that the linker threw away
// have the start 0 or an empty range; everything that does not start in an
// executable segment is left out, and so is what lies 4 GiB or more above the
// lowest of these.
func (s *frames) buildIndex() *index {
	x := &index{base: s.lowestCode()}
	s.walk(x, func(f *fde, off uint64) {
		if rel := f.start - x.base; f.size != 0 && rel <= 0xffff_ffff && s.img.Segments.Executable(f.start) {
			x.items = append(x.items, item{uint32(rel), uint32(off)})
		}
	})
	slices.SortStableFunc(x.items, func(a, b item) int { return cmp.Compare(a.start, b.start) })
	x.dropDiscarded()
	x.items = slices.Clip(x.items)
	return x
}

// walk calls visit for every readable FDE. Padding and terminators amid the
// section (of object files linked after crtend.o) are stepped over; a length
// that leaves the section ends the walk.
func (s *frames) walk(x *index, visit func(f *fde, off uint64)) {
	var e entry
	for off := uint64(0); off+4 <= uint64(len(s.data)); {
		if !s.readEntry(off, &e) {
			x.damaged = !s.open
			return
		}
		if e.end == off+4 && s.open {
			return
		}
		if e.end != off+4 && !e.cie {
			var f fde
			if s.readFDE(off, &f) {
				visit(&f, off)
			} else {
				x.damaged = true
			}
		}
		off = e.end
	}
}

// lowestCode is the address of the lowest executable segment.
func (s *frames) lowestCode() uint64 {
	for i := range s.img.Segments {
		if s.img.Segments[i].Exec {
			return s.img.Segments[i].Addr
		}
	}
	return 0
}

// dropDiscarded removes the FDEs at address 0 when there are several: in a
// firmware image with code at 0, those of discarded functions pile up there and
// none can be told from the true one.
func (x *index) dropDiscarded() {
	n := 0
	for x.base == 0 && n < len(x.items) && x.items[n].start == 0 {
		n++
	}
	if n > 1 {
		x.items = x.items[n:]
	}
}

// search returns the section offset of the last FDE that starts at or below pc.
func (x *index) search(pc uint64) (uint64, bool) {
	if pc < x.base {
		return 0, false
	}
	rel := pc - x.base
	lo, hi := 0, len(x.items)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if uint64(x.items[m].start) <= rel {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == 0 {
		return 0, false
	}
	return uint64(x.items[lo-1].off), true
}
