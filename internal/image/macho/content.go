package macho

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// slice is the bytes of an extent of the file, cut at the end of the file.
func (f *file) slice(x extent) []byte {
	if f.place != nil {
		return f.placed(x)
	}
	if x.off >= uint64(len(f.data)) {
		return nil
	}
	b := f.data[x.off:]
	return b[:bin.Limit(x.size, len(b))]
}

// placed is slice for a file that is mapped in memory, where offsets in the file lead nowhere: the
// segment that holds the extent tells the address of its bytes.
func (f *file) placed(x extent) []byte {
	// The segments of an image in a shared cache may be in different files of the cache. The
	// offsets of tables count in the file that has __LINKEDIT.
	if s, ok := f.segmentNamed("__LINKEDIT"); ok && s.holds(x) {
		return f.placedIn(s, x)
	}
	for i := range f.segments {
		if s := &f.segments[i]; s.holds(x) {
			return f.placedIn(s, x)
		}
	}
	return nil
}

// holds tells whether an extent begins among the bytes that the file has of a segment.
func (s *segment) holds(x extent) bool { return x.off-s.file.off < s.file.size }

// placedIn is the mapped bytes of an extent that begins in a segment.
func (f *file) placedIn(s *segment, x extent) []byte {
	skip := x.off - s.file.off
	return f.place(s.addr+skip, min(x.size, s.file.size-skip))
}

// bytesOf is the bytes that the file has of a segment, up to the first encrypted one.
func (f *file) bytesOf(s *segment) []byte {
	if f.place != nil {
		if s.prot&protWrite != 0 {
			return nil
		}
		return f.place(s.addr, s.size)
	}
	b := f.slice(extent{s.file.off, min(s.file.size, s.size)})
	if x := f.encrypted; x.size != 0 && x.off < s.file.off+s.file.size && s.file.off < x.off+x.size {
		b = b[:bin.Limit(x.off-min(s.file.off, x.off), len(b))]
	}
	return b
}

// bytesAt is the file's bytes from an image address to the end of the segment there.
func (f *file) bytesAt(addr uint64) []byte {
	for i := range f.segments {
		if s := &f.segments[i]; addr-s.addr < s.size {
			b := f.bytesOf(s)
			return b[bin.Limit(addr-s.addr, len(b)):]
		}
	}
	return nil
}

// bytesOfSection are the bytes of a section. They are found by the section's address in its
// segment: the section's offset may count in another file of a shared cache.
func (f *file) bytesOfSection(s *section) []byte {
	for i := range f.segments {
		g := &f.segments[i]
		if s.addr-g.addr < g.size && g.name == s.segment {
			data := f.bytesOf(g)
			data = data[bin.Limit(s.addr-g.addr, len(data)):]
			return data[:bin.Limit(s.size, len(data))]
		}
	}
	return f.slice(extent{s.off, s.size})
}

// readSection reads a section by its own name, and calls it name.
func (f *file) readSection(own, name string) (image.Section, bool) {
	s, ok := f.sectionNamed(own)
	if !ok || s.zeroFilled() || s.segment == "__DWARF" && s.off == 0 {
		return image.Section{}, false
	}
	return image.Section{Name: name, Addr: s.addr, Data: f.bytesOfSection(s)}, true
}
