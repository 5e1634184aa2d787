package compactunwind

import "github.com/backsight/backsight/internal/bin"

// page is a second-level page.
type page struct {
	t          *Table
	compressed bool
	first, end uint32 // offsets of the page's first function and of the next page's
	entries    []byte // of size bytes each
	size       int
	count      int
	own        []byte // the page's own encodings
}

// Kinds of pages (UNWIND_SECOND_LEVEL_*).
const (
	kindRegular    = 2
	kindCompressed = 3
)

// page reads the head of the page of a first-level entry; the page is empty where there is none.
func (t *Table) page(i int) page {
	p := page{t: t, first: t.first(i), end: t.first(i + 1), size: 8}
	at := uint64(t.word(t.index, i*indexSize+4))
	r := bin.NewAt(t.data, at, t.big)
	kind := r.U32()
	off, count := uint64(r.U16()), uint64(r.U16())
	switch kind {
	case kindCompressed:
		p.compressed, p.size = true, 4
		ownAt, ownCount := uint64(r.U16()), uint64(r.U16())
		p.own = t.part(at+ownAt, 4*ownCount)
	case kindRegular:
	default:
		return p
	}
	if at == 0 || r.Err() != nil {
		return p
	}
	p.entries = t.part(at+off, uint64(p.size)*count)
	p.count = len(p.entries) / p.size
	return p
}

// offset is the function offset of the k-th entry.
func (p *page) offset(k int) uint32 {
	w := p.t.word(p.entries, k*p.size)
	if p.compressed {
		return p.first + w&0xff_ffff
	}
	return w
}

// entry is the k-th entry.
func (p *page) entry(k int) Entry {
	end := p.end
	if k+1 < p.count {
		end = p.offset(k + 1)
	}
	at := func(off uint32) uint64 { return (p.t.base + uint64(off)) & p.t.mask }
	return Entry{Lo: at(p.offset(k)), Hi: at(end), Encoding: p.encoding(k)}
}

// encoding is that of the k-th entry; 0 where its index leads nowhere.
func (p *page) encoding(k int) Encoding {
	if !p.compressed {
		return Encoding(p.t.word(p.entries, k*p.size+4))
	}
	i := int(p.t.word(p.entries, k*p.size) >> 24)
	list := p.t.common
	if n := len(list) / 4; i >= n {
		list, i = p.own, i-n
	}
	if 4*i+4 > len(list) {
		return 0
	}
	return Encoding(p.t.word(list, 4*i))
}
