package macho

import "github.com/backsight/backsight/internal/bin"

// chained is LC_DYLD_CHAINED_FIXUPS (mach-o/fixup-chains.h): for each page of a segment, where
// chains of words begin that dyld adjusts; each word says how far away the next is, and whether
// it is an address of the image or one that is bound to an import.
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

// each calls yield for every chain of the file, until it returns false.
func (c *chained) each(yield func(chain) bool) {
	c.segments(func(s *segment, at uint64) bool {
		p := c.pages(s, at)
		for page := range p.count {
			if !p.chains(page, yield) {
				return false
			}
		}
		return true
	})
}

// bindAt is the name that the word at an address is bound to.
func (c *chained) bindAt(addr uint64) (name string, ok bool) {
	c.segments(func(s *segment, at uint64) bool {
		if addr-s.addr >= s.size {
			return true
		}
		p := c.pages(s, at)
		if p.size == 0 {
			return false
		}
		left := p.size // chains of a page have no word in common
		p.chains((addr-s.addr)/p.size, func(ch chain) bool {
			left--
			return left > 0 && c.f.follow(ch, func(at uint64, l link) bool {
				if at == addr && l.bind {
					name, ok = c.importName(l.ordinal)
				}
				left--
				return at != addr && left > 0
			})
		})
		return false
	})
	return name, ok
}

// segments calls yield for the segments that have chains, with the offset of what there is to say
// of their pages, until it returns false.
func (c *chained) segments(yield func(s *segment, at uint64) bool) {
	r := bin.NewAt(c.data, c.starts, c.f.big)
	for i := range min(uint64(r.U32()), uint64(len(c.f.segments))) {
		at := uint64(r.U32())
		if r.Err() != nil || at != 0 && !yield(&c.f.segments[i], c.starts+at) {
			return
		}
	}
}

// pages is where the chains of a segment's pages begin (dyld_chained_starts_in_segment).
type pages struct {
	segment *segment
	size    uint64 // of a page
	format  uint16
	count   uint64
	starts  bin.Reader // at the first page's
}

func (c *chained) pages(s *segment, at uint64) (p pages) {
	r := bin.NewAt(c.data, at, c.f.big)
	r.Skip(4) // size
	p.segment, p.size, p.format = s, uint64(r.U16()), r.U16()
	r.Skip(8 + 4) // segment_offset, max_valid_pointer
	p.count = uint64(r.U16())
	if p.size == 0 || r.Err() != nil {
		return pages{}
	}
	p.count = min(p.count, s.file.size/p.size+1)
	p.starts = r
	return p
}

// pageNone is a page without chains; one with startMulti has several, whose starts stand in the
// same array from the index on that is left, the last with startLast.
const pageNone, startMulti, startLast = 0xffff, 0x8000, 0x8000

// chains calls yield for the chains of a page until it returns false.
func (p *pages) chains(page uint64, yield func(chain) bool) bool {
	if page >= p.count {
		return true
	}
	begin := p.segment.addr + page*p.size
	start := func(i uint64) (off uint16, ok bool) {
		r := p.starts
		r.Skip(2 * i)
		off = r.U16()
		return off, r.Err() == nil
	}
	off, ok := start(page)
	switch {
	case !ok || off == pageNone:
		return true
	case off&startMulti == 0:
		return yield(chain{p.format, begin + uint64(off), begin + p.size})
	}
	for i := uint64(off &^ startMulti); i < uint64(off&^startMulti)+p.size; i++ {
		off, ok := start(i)
		if !ok || !yield(chain{p.format, begin + uint64(off&^startLast), begin + p.size}) {
			return !ok
		}
		if off&startLast != 0 {
			break
		}
	}
	return true
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
