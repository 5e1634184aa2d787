// Package compactunwind finds the compact unwind encoding of an address: it reads Mach-O's
// __unwind_info, and knows nothing of what encodings mean.
//
//	first level   function offset, page           searched
//	page          regular: offset and encoding
//	              compressed: 24-bit offset, 8-bit index of an encoding: of those common to
//	              all pages, or of the page's own
//
// The linker folds functions: an entry covers all that follow with the same encoding, so that
// where an entry begins need not be where the function of an address does.
//
// Everything is read in place at each question. Specification:
// mach-o/compact_unwind_encoding.h of Apple's libunwind.
package compactunwind

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Entry is an entry, and the addresses for which it holds: lo ≤ address < hi, image addresses.
type Entry struct {
	Lo, Hi   uint64
	Encoding Encoding
}

// Encoding is the 32-bit word of an entry.
type Encoding uint32

// Bits of an encoding that all processors share.
const (
	hasLSDA          = 1 << 30
	personalityShift = 28
	// Mode has the bits that say how the rest is read: 0 means that the linker knows nothing
	// of the function.
	modeShift = 24
	modeMask  = 0xf
)

// Mode is the kind of the encoding; the meaning is the processor's.
func (e Encoding) Mode() uint32 { return uint32(e) >> modeShift & modeMask }

// LSDA tells whether the function has data for exceptions.
func (e Encoding) LSDA() bool { return e&hasLSDA != 0 }

// Personality is the number of the function's personality routine, 0 for none.
func (e Encoding) Personality() int { return int(e >> personalityShift & 3) }

// Modes that name an FDE in __eh_frame.
const (
	dwarfMode  = 4 // x86, arm
	dwarfARM64 = 3
	fdeMask    = 0xff_ffff
)

// FDE is the offset in __eh_frame of the FDE that an encoding names; ok is false for an encoding
// that says all by itself. An offset that does not fit 24 bits is 0 in the encoding.
func (t *Table) FDE(e Encoding) (offset uint64, ok bool) {
	return uint64(e & fdeMask), t != nil && e.Mode() == t.dwarf
}

// Table is the __unwind_info of an image.
type Table struct {
	data []byte
	big  bool
	base uint64 // what offsets of functions are relative to: the mach header
	mask uint64
	// dwarf is the processor's mode for entries that name an FDE.
	dwarf uint32

	common []byte // words
	index  []byte // of indexSize bytes each; the last only says where the functions end
}

// indexSize is the size of a first-level entry: function offset, page, LSDAs.
const indexSize = 12

type tableKey struct{}

// Of is the table of an image; nil where it has none.
func Of(img *image.Image) *Table {
	if img.Table(image.CompactUnwind).Size == 0 {
		return nil
	}
	return img.Memo(tableKey{}, func() any { return newTable(img) }).(*Table)
}

func newTable(img *image.Image) *Table {
	at := img.Table(image.CompactUnwind)
	data := img.Segments.Bytes(at.Addr)
	t := &Table{data: data[:bin.Limit(at.Size, len(data))], big: img.Arch.BigEndian, base: at.Base, mask: img.Arch.AddrMask(), dwarf: dwarfMode}
	if img.Arch.Name == "aarch64" {
		t.dwarf = dwarfARM64
	}
	r := bin.New(t.data, t.big)
	version := r.U32()
	commonAt, commonCount := r.U32(), r.U32()
	r.Skip(8) // personality routines
	indexAt, indexCount := r.U32(), r.U32()
	if r.Err() != nil || version != 1 {
		return nil
	}
	t.common = t.part(uint64(commonAt), 4*uint64(commonCount))
	t.index = t.part(uint64(indexAt), indexSize*uint64(indexCount))
	if len(t.index) < 2*indexSize {
		return nil
	}
	return t
}

// part is a part of the section, cut at its end.
func (t *Table) part(off, size uint64) []byte {
	b := t.data[bin.Limit(off, len(t.data)):]
	return b[:bin.Limit(size, len(b))]
}

func (t *Table) word(b []byte, i int) uint32 { return uint32(bin.Uint(b[i:i+4], t.big)) }

// pages is how many first-level entries have a page.
func (t *Table) pages() int { return len(t.index)/indexSize - 1 }

// first is the offset of the first function of a page.
func (t *Table) first(i int) uint32 { return t.word(t.index, i*indexSize) }

// Find returns the entry that covers an image address. A nil Table covers nothing.
func (t *Table) Find(pc uint64) (Entry, bool) {
	off := (pc - t.baseOf()) & t.maskOf()
	if t == nil || off > 0xffff_ffff {
		return Entry{}, false
	}
	i := last(t.pages(), func(i int) bool { return t.first(i) <= uint32(off) })
	if i < 0 || uint32(off) >= t.first(t.pages()) {
		return Entry{}, false
	}
	p := t.page(i)
	k := last(p.count, func(k int) bool { return p.offset(k) <= uint32(off) })
	if k < 0 {
		return Entry{}, false
	}
	e := p.entry(k)
	return e, e.Lo <= pc && pc < e.Hi
}

func (t *Table) baseOf() uint64 {
	if t == nil {
		return 0
	}
	return t.base
}

func (t *Table) maskOf() uint64 {
	if t == nil {
		return 0
	}
	return t.mask
}

// last is the last of n sorted things for which below holds, -1 if there is none.
func last(n int, below func(int) bool) int {
	lo, hi := 0, n
	for lo < hi {
		if m := int(uint(lo+hi) >> 1); below(m) {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo - 1
}

// Entries calls yield for all entries, in the order of the section, until it returns false.
func (t *Table) Entries(yield func(Entry) bool) {
	if t == nil {
		return
	}
	left := len(t.data) // pages may overlap; entries of linked files do not
	for i := range t.pages() {
		p := t.page(i)
		for k := range p.count {
			if left -= 4; left < 0 || !yield(p.entry(k)) {
				return
			}
		}
	}
}
