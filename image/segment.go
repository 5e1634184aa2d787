package image

import "sort"

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

// disjoint sorts segments and cuts those that overlap, as New says.
func disjoint(segs []Segment) []Segment {
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

// Segment returns the segment that holds addr.
func (img *Image) Segment(addr uint64) (*Segment, bool) {
	segs := img.Segments
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
func (img *Image) LoadedBytes() (n uint64) {
	for i := range img.Segments {
		n += uint64(len(img.Segments[i].Data))
	}
	return n
}

// Bytes returns the file's bytes from addr to the end of its segment, nil where
// there are none. They are not copied.
func (img *Image) Bytes(addr uint64) []byte {
	s, ok := img.Segment(addr)
	if !ok || addr-s.Addr >= uint64(len(s.Data)) {
		return nil
	}
	return s.Data[addr-s.Addr:]
}

// Before returns up to n bytes that end right before addr, within one segment.
func (img *Image) Before(addr uint64, n int) []byte {
	s, ok := img.Segment(addr - 1)
	if !ok || addr-s.Addr > uint64(len(s.Data)) {
		return nil
	}
	end := addr - s.Addr
	return s.Data[end-min(end, uint64(n)) : end]
}

// Code is Bytes for executable segments only.
func (img *Image) Code(addr uint64) []byte {
	s, ok := img.Segment(addr)
	if !ok || !s.Exec || addr-s.Addr >= uint64(len(s.Data)) {
		return nil
	}
	return s.Data[addr-s.Addr:]
}

// Executable tells whether addr lies in an executable segment.
func (img *Image) Executable(addr uint64) bool {
	s, ok := img.Segment(addr)
	return ok && s.Exec
}

// Word reads an address-sized word of the file at addr.
func (img *Image) Word(addr uint64) (uint64, bool) {
	return img.Uint(addr, img.Arch.AddrSize)
}

// Uint reads an unsigned integer of size bytes, at most 8, at addr.
func (img *Image) Uint(addr uint64, size int) (uint64, bool) {
	b := img.Bytes(addr)
	if len(b) < size {
		return 0, false
	}
	var v uint64
	for i := range size {
		if img.Arch.BigEndian {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return v, true
}

// Bounds returns the lowest and the first address past the highest of all
// segments; equal when there are none.
func (img *Image) Bounds() (lo, hi uint64) {
	if len(img.Segments) == 0 {
		return 0, 0
	}
	last := img.Segments[len(img.Segments)-1]
	return img.Segments[0].Addr, last.Addr + last.Size
}
