package image

import (
	"bytes"
	"sort"
)

// Segment is a range of the address space that the file fills.
type Segment struct {
	Addr uint64
	Size uint64 // in memory; bytes past len(Data) are zero
	Data []byte // the file's bytes, not copied
	// FileOff is the offset of Data in the file: what a core's file-mapping
	// table refers to.
	FileOff uint64
	Read    bool
	Write   bool
	Exec    bool
}

// Unknown tells whether nobody says what the range is: of a binary that is not at hand a dump may tell the place alone.
func (s *Segment) Unknown() bool { return !s.Read && !s.Write && !s.Exec && len(s.Data) == 0 }

// blank is how many bytes of zero no code has in a row: padding between functions is shorter.
const blank = 64

// Blank tells whether the code in front of an image address was taken out of its file: bug reports have libraries with nothing
// but zero in their text.
func (s *Segment) Blank(addr uint64) bool {
	end := addr - s.Addr
	if end < blank || end > uint64(len(s.Data)) {
		return false
	}
	return bytes.Count(s.Data[end-blank:end], []byte{0}) == blank
}

// Segments are the ranges that a file fills, sorted by Addr, not overlapping. Addresses are
// image addresses.
type Segments []Segment

// disjoint sorts segments and cuts those that overlap, as New says.
func disjoint(segs Segments) Segments {
	sort.SliceStable(segs, func(i, j int) bool { return segs[i].Addr < segs[j].Addr })
	out := segs[:0]
	end := uint64(0)
	for _, s := range segs {
		if s.Size < uint64(len(s.Data)) {
			s.Data = s.Data[:s.Size]
		}
		if s.Addr+s.Size < s.Addr { // wraps
			s.Size = -s.Addr - 1
		}
		if len(out) > 0 && s.Addr < end {
			cut := end - s.Addr
			if cut >= s.Size {
				continue
			}
			s.Addr, s.Size, s.FileOff = end, s.Size-cut, s.FileOff+cut
			s.Data = s.Data[min(cut, uint64(len(s.Data))):]
		}
		if s.Size == 0 {
			continue
		}
		if uint64(len(s.Data)) > s.Size {
			s.Data = s.Data[:s.Size]
		}
		end = s.Addr + s.Size
		out = append(out, s)
	}
	return out
}

// At returns the segment that holds addr.
func (segs Segments) At(addr uint64) (*Segment, bool) {
	lo, hi := 0, len(segs)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if segs[m].Addr <= addr {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == 0 || addr-segs[lo-1].Addr >= segs[lo-1].Size {
		return nil, false
	}
	return &segs[lo-1], true
}

// LoadedBytes is how many bytes of the file the segments show.
func (segs Segments) LoadedBytes() (n uint64) {
	for i := range segs {
		n += uint64(len(segs[i].Data))
	}
	return n
}

// Bytes returns the file's bytes from addr to the end of its segment, nil where
// there are none. They are not copied.
func (segs Segments) Bytes(addr uint64) []byte {
	s, ok := segs.At(addr)
	if !ok || addr-s.Addr >= uint64(len(s.Data)) {
		return nil
	}
	return s.Data[addr-s.Addr:]
}

// Before returns up to n bytes that end right before addr, within one segment.
func (segs Segments) Before(addr uint64, n int) []byte {
	s, ok := segs.At(addr - 1)
	if !ok || addr-s.Addr > uint64(len(s.Data)) {
		return nil
	}
	end := addr - s.Addr
	return s.Data[end-min(end, uint64(n)) : end]
}

// Code is Bytes for executable segments only.
func (segs Segments) Code(addr uint64) []byte {
	s, ok := segs.At(addr)
	if !ok || !s.Exec || addr-s.Addr >= uint64(len(s.Data)) {
		return nil
	}
	return s.Data[addr-s.Addr:]
}

// Executable tells whether addr lies in an executable segment.
func (segs Segments) Executable(addr uint64) bool {
	s, ok := segs.At(addr)
	return ok && s.Exec
}

// Bounds returns the lowest and the first address past the highest of all
// segments; equal when there are none.
func (segs Segments) Bounds() (lo, hi uint64) {
	if len(segs) == 0 {
		return 0, 0
	}
	last := segs[len(segs)-1]
	return segs[0].Addr, last.Addr + last.Size
}
