package macho

import "github.com/backsight/backsight/internal/bin"

// chained is LC_DYLD_CHAINED_FIXUPS (mach-o/fixup-chains.h): for each page of a segment, where
// a chain of words begins that dyld adjusts; each word says how far away the next is, and
// whether it is an address of the image or one that is bound to an import.
type chained struct {
	f    *file
	data []byte

	starts, imports, names uint64 // offsets in data
	count                  uint32
	format                 uint32 // of imports
}

func (f *file) chained() chained {
	c := chained{f: f, data: f.slice(f.fixups)}
	r := bin.New(c.data, f.big)
	r.Skip(4) // fixups_version
	c.starts, c.imports, c.names = uint64(r.U32()), uint64(r.U32()), uint64(r.U32())
	c.count, c.format = r.U32(), r.U32()
	return c
}

// chainPage is the chain of one page: of words in a format, the first at an address.
type chainPage struct {
	format  uint16
	at, end uint64
}

// pageNone and pageMulti are no offsets: a page without chains, and one of several (of 32-bit
// programs with more than one chain a page; those are not followed).
const pageNone, pageMulti = 0xffff, 0x8000

// pages calls yield for every page with a chain, or for that of address only, unless only is 0.
func (c *chained) pages(only uint64, yield func(chainPage) bool) {
	r := bin.NewAt(c.data, c.starts, c.f.big)
	for i := range min(uint64(r.U32()), maxSegments) {
		at := uint64(r.U32())
		if r.Err() != nil {
			return
		}
		if at != 0 && i < uint64(len(c.f.segments)) && !c.pagesOf(&c.f.segments[i], c.starts+at, only, yield) {
			return
		}
	}
}

// pagesOf is pages for a segment, whose dyld_chained_starts_in_segment is at an offset.
func (c *chained) pagesOf(s *segment, at, only uint64, yield func(chainPage) bool) bool {
	r := bin.NewAt(c.data, at, c.f.big)
	r.Skip(4) // size
	size, format := uint64(r.U16()), r.U16()
	r.Skip(8 + 4) // segment_offset, max_valid_pointer
	count := uint64(r.U16())
	if only != 0 && (size == 0 || only-s.addr >= s.size) || size == 0 {
		return true
	}
	first := uint64(0)
	if only != 0 {
		first = (only - s.addr) / size
		count = min(count, first+1)
		r.Skip(2 * first)
	}
	for i := first; i < count; i++ {
		off := r.U16()
		if r.Err() != nil {
			return true
		}
		page := s.addr + i*size
		if off != pageNone && off&pageMulti == 0 && !yield(chainPage{format, page + uint64(off), page + size}) {
			return false
		}
	}
	return true
}

// link is a word of a chain, decoded.
type link struct {
	bind    bool
	ordinal uint32
	target  uint64
	next    uint64 // bytes to the next word, 0 at the end
}

// Pointer formats (DYLD_CHAINED_PTR_*).
const (
	ptrARM64E           = 1
	ptr64               = 2
	ptr32               = 3
	ptr64Offset         = 6
	ptrARM64EKernel     = 7
	ptrARM64EUserland   = 9
	ptrARM64EUserland24 = 12
)

// decode reads a word of a chain; ok is false for a format that is not followed.
func (c *chained) decode(format uint16, v uint64) (l link, ok bool) {
	switch format {
	case ptr64, ptr64Offset:
		l = link{bind: v>>63 != 0, ordinal: uint32(v & 0xff_ffff), target: v & (1<<36 - 1), next: v >> 51 & 0xfff * 4}
		if format == ptr64Offset {
			l.target += c.f.textAddr()
		}
	case ptr32:
		l = link{bind: v>>31 != 0, ordinal: uint32(v & 0xf_ffff), target: v & (1<<26 - 1), next: v >> 26 & 0x1f * 4}
	case ptrARM64E, ptrARM64EKernel, ptrARM64EUserland, ptrARM64EUserland24:
		l = c.decodeARM64E(format, v)
	default:
		return l, false
	}
	return l, true
}

// decodeARM64E reads a word that may carry a signature: bit 63 tells, bit 62 tells binds.
func (c *chained) decodeARM64E(format uint16, v uint64) link {
	l := link{bind: v>>62&1 != 0, ordinal: uint32(v & 0xffff), next: v >> 51 & 0x7ff * 8}
	if format == ptrARM64EUserland24 {
		l.ordinal = uint32(v & 0xff_ffff)
	}
	if format == ptrARM64EKernel {
		l.next /= 2
	}
	switch signed := v>>63 != 0; {
	case signed:
		l.target = v&0xffff_ffff + c.f.textAddr()
	case format == ptrARM64E:
		l.target = v & (1<<43 - 1)
	default:
		l.target = v&(1<<43-1) + c.f.textAddr()
	}
	return l
}

// walk calls yield for the words of a page's chain, until it returns false.
func (c *chained) walk(p chainPage, yield func(at uint64, l link) bool) bool {
	for at := p.at; at < p.end; {
		r := bin.New(c.f.bytesAt(at), c.f.big)
		l, ok := c.decode(p.format, c.f.word(&r))
		if !ok || r.Err() != nil {
			return true
		}
		if !yield(at, l) {
			return false
		}
		if l.next == 0 {
			return true
		}
		at += l.next
	}
	return true
}

// each calls yield for every address of the image that a chain has, until it returns false.
func (c *chained) each(yield func(target uint64) bool) {
	c.pages(0, func(p chainPage) bool {
		return c.walk(p, func(_ uint64, l link) bool { return l.bind || yield(l.target) })
	})
}

// bindAt is the name that the word at an address is bound to.
func (c *chained) bindAt(addr uint64) (name string, ok bool) {
	if addr == 0 {
		return "", false
	}
	c.pages(addr, func(p chainPage) bool {
		return c.walk(p, func(at uint64, l link) bool {
			if at == addr && l.bind {
				name, ok = c.importName(l.ordinal)
			}
			return at < addr
		})
	})
	return name, ok
}

// importName is the name of an import (DYLD_CHAINED_IMPORT, _ADDEND, _ADDEND64).
func (c *chained) importName(i uint32) (string, bool) {
	if i >= c.count {
		return "", false
	}
	off := uint64(0)
	switch c.format {
	case 1, 2:
		r := bin.NewAt(c.data, c.imports+4*uint64(c.format)*uint64(i), c.f.big)
		off = uint64(r.U32() >> 9)
	case 3:
		r := bin.NewAt(c.data, c.imports+16*uint64(i), c.f.big)
		off = r.U64() >> 32
	}
	r := bin.NewAt(c.data, c.names+off, c.f.big)
	name := plainName(r.CBytes())
	return name, name != "" && len(name) <= maxName
}

// bytesAt is what the file holds from an address to the end of its segment.
func (f *file) bytesAt(addr uint64) []byte {
	for i := range f.segments {
		if s := &f.segments[i]; addr-s.addr < s.size {
			b := f.bytesOf(s)
			return b[bin.Limit(addr-s.addr, len(b)):]
		}
	}
	return nil
}
