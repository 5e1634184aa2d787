package elf

// maxSections bounds the sections that are looked through for the end of a
// symbol; linked files have less than a hundred.
const maxSections = 1 << 10

// unsizedEnd is how far a symbol without a size can reach: to the end of the
// section that holds it, else of the segment.
func (x *symbolIndex) unsizedEnd(f *file, addr uint64) uint64 {
	for i := range min(f.sections.n, maxSections) {
		if s := f.sections.at(i); s.flags&shfAlloc != 0 && addr-s.addr < s.size {
			return s.addr + s.size
		}
	}
	if s, ok := x.img.Segments.At(addr); ok {
		return s.Addr + s.Size
	}
	return addr
}
