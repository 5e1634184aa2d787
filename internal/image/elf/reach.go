package elf

// maxSections bounds the sections that are looked through for the end of a
// symbol; linked files have less than a hundred.
const maxSections = 1 << 10

// reach is how far a symbol without a size reaches, for symbols of a file from one
// address up to another: two million of them, in a thousand sections, would be looked
// for two billion times.
type reach struct {
	f        *file
	from, to uint64
	end      uint64 // 0: the symbol's own address
}

// unsizedEnd is how far a symbol without a size can reach: to the end of the
// section that holds it, else of the segment.
func (x *symbolIndex) unsizedEnd(f *file, addr uint64) uint64 {
	if r := &x.reach; r.f != f || addr < r.from || addr >= r.to {
		*r = x.reachOf(f, addr)
	}
	return max(addr, x.reach.end)
}

// reachOf is the reach of symbols from addr up to where a section begins or ends.
func (x *symbolIndex) reachOf(f *file, addr uint64) reach {
	r := reach{f: f, from: addr, to: ^uint64(0)}
	for i := range min(f.sections.n, maxSections) {
		s := f.sections.at(i)
		if s.flags&shfAlloc == 0 {
			continue
		}
		if addr-s.addr < s.size {
			r.end, r.to = s.addr+s.size, min(r.to, s.addr+s.size)
			return r
		}
		if s.addr > addr {
			r.to = min(r.to, s.addr)
		}
	}
	for i := range x.img.Segments {
		s := &x.img.Segments[i]
		if addr-s.Addr < s.Size {
			r.end = s.Addr + s.Size
			r.to = min(r.to, r.end)
		} else if s.Addr > addr {
			r.to = min(r.to, s.Addr)
		}
	}
	return r
}
