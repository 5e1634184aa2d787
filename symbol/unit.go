//go:build !small

package symbol

import (
	"debug/dwarf"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// unit is a compilation unit of .debug_info.
type unit struct {
	header dwarf.Offset // of the header in .debug_info
	data   *dwarf.Data  // of this unit alone or of all, nil before it is opened
	// .debug_info and .debug_abbrev that data is of.
	info, abbrev []byte
	// The header and the unit's DIE in data.
	begin, die dwarf.Offset
	size       uint64      // in bytes, header included
	ahead      chan []byte // gives the unit to open, if it is being read

	// other is the part of the unit in a file of its own, which data then is; nil for a whole
	// unit.
	other *splitUnit

	read      bool
	dir       string
	functions []span // of is the offset of the DIE
	lines     *lineTable
	tables    *unitTables // nil: none is kept
}

// Bounds of what is taken from one image. The largest programs (browsers) have
// fewer by an order of magnitude; maxAttrs is for one kind of DIE, which has ten.
const (
	maxUnits = 1 << 20
	maxAttrs = 256

	// What a unit and a range are charged with, in bytes of memory: of this package
	// and of debug/dwarf.
	unitSize = 300
	spanSize = 24
)

// readUnits finds the units by their headers (DWARF 5 §7.5.1), and tells whether
// debug/dwarf may read them.
//
// dwarf.New parses every unit's abbreviations. Compilers make one table for each
// unit, and linkers put them one behind the other; a file whose units begin ever
// later in one huge table would cost its square. So the tables may not add up to
// more than their section and a half.
func (d *debugInfo) readUnits() bool {
	seen := make(map[uint64]bool)
	tables := budget.New("bytes of abbreviations", 64, uint64(len(d.abbrev)/2*3))
	for at := uint64(0); at < uint64(len(d.info)); {
		r := bin.New(d.info, d.big)
		r.Seek(at)
		u := unit{header: dwarf.Offset(at)}
		n, wide := unitLength(&r)
		u.size = uint64(r.Offset()) - at + n
		if n > uint64(r.Len()) || n == 0 || len(d.units) >= maxUnits {
			return false
		}
		if !d.kept.Draw(unitSize) {
			d.leaveOut(".debug_info", at, d.kept.Err())
			return false
		}
		abbrev, compile := unitHeader(&r, wide)
		if r.Err() != nil {
			return false
		}
		if !seen[abbrev] {
			seen[abbrev] = true
			t := abbreviations(d.abbrev, abbrev, d.big)
			if t.wide || !tables.Draw(t.size) {
				return false
			}
			if !d.abbrevs.Draw(t.size) {
				d.leaveOut(".debug_abbrev", abbrev, d.abbrevs.Err())
				return false
			}
		}
		if compile {
			u.begin, u.die = u.header, dwarf.Offset(r.Offset())
			d.units = append(d.units, u)
		}
		at += u.size
	}
	return true
}

// unitLength reads an initial length (DWARF 5 §7.4).
func unitLength(r *bin.Reader) (n uint64, wide bool) {
	if n = uint64(r.U32()); n == 0xffff_ffff {
		return r.U64(), true
	}
	return n, false
}

// Unit types (DWARF 5, table 7.2) that hold code in this file.
const (
	utCompile = 0x01
	utPartial = 0x03
	// utSkeleton's code is described in another file.
	utSkeleton = 0x04
)

// unitHeader reads on to the unit's DIE. compile: the unit may hold code.
func unitHeader(r *bin.Reader, wide bool) (abbrev uint64, compile bool) {
	version, compile := r.U16(), true
	offset := 4
	if wide {
		offset = 8
	}
	if version >= 5 {
		typ := r.U8()
		r.U8() // address_size
		abbrev = r.Uint(offset)
		if typ == utSkeleton {
			r.U64() // dwo_id
		}
		return abbrev, typ == utCompile || typ == utPartial || typ == utSkeleton
	}
	abbrev = r.Uint(offset)
	r.U8()
	return abbrev, compile
}

// unitReader reads the entries of a unit from the debug information that has the unit.
type unitReader struct {
	*unit
	d *debugInfo
}

// open reads a unit without the rest of the debug information. It reports false where the unit
// cannot be read that way, for instance because it refers to other units.
func (u unitReader) open() bool {
	var info []byte
	if u.ahead != nil {
		info = <-u.ahead
		u.ahead = nil
	} else {
		info = u.d.readUnit(u.header)
	}
	r := bin.New(info, u.d.big)
	_, wide := unitLength(&r)
	abbrevAt, compile := unitHeader(&r, wide)
	abbrev, ok := ownAbbrevs(u.d, abbrevAt)
	if r.Err() != nil || !compile || !ok {
		return false
	}
	clear(abbrevField(info, wide, u.d.big)) // of what the unit gets, its table is at 0
	u.die, u.size = dwarf.Offset(r.Offset()), uint64(len(info))
	u.data, u.info, u.abbrev = u.d.parse(abbrev, info), info, abbrev
	return u.data != nil
}

// indexUnits finds every unit's address ranges: in .debug_aranges, which GCC
// writes, and for units that are not listed there, as Clang leaves them, by the
// unit's DIE.
func (d *debugInfo) indexUnits(data *dwarf.Data) {
	byHeader := make(map[dwarf.Offset]int, len(d.units))
	for i := range d.units {
		byHeader[d.units[i].header] = i
		d.units[i].data, d.units[i].info, d.units[i].abbrev = data, d.info, d.abbrev
	}
	d.readAranges(func(at dwarf.Offset) (int, bool) { i, ok := byHeader[at]; return i, ok })
	listed := make([]bool, len(d.units))
	for _, s := range d.spans {
		listed[s.of] = true
	}
	r := data.Reader()
	for i := range d.units {
		if listed[i] {
			continue
		}
		r.Seek(d.units[i].die)
		if e, err := r.Next(); err == nil && e != nil {
			d.spans = d.addRanges(d.spans, data, e, i)
		}
	}
	sortSpans(d.spans)
}

// addRanges appends the ranges of a DIE. Those of functions that the linker left
// out begin at 0 or another place without code.
func (d *debugInfo) addRanges(spans []span, data *dwarf.Data, e *dwarf.Entry, of int) []span {
	ranges, err := data.Ranges(e)
	if err != nil {
		return spans
	}
	d.work.Draw(len(ranges)) // where this fails, so does the next DIE's
	for _, r := range ranges {
		if r[0] >= r[1] || !d.img.Segments.Executable(r[0]) {
			continue
		}
		if !d.kept.Draw(spanSize) {
			d.leaveOut(".debug_info", uint64(e.Offset), d.kept.Err())
			break
		}
		spans = append(spans, span{r[0], r[1], of})
	}
	return spans
}

// readAranges reads .debug_aranges (§6.1.2) into d.spans. byHeader numbers units.
func (d *debugInfo) readAranges(byHeader func(dwarf.Offset) (int, bool)) {
	r := bin.New(d.aranges, d.big)
	for r.Len() > 0 && r.Err() == nil {
		begin := r.Offset()
		n, wide := unitLength(&r)
		set := bin.New(r.Bytes(n), d.big)
		if r.Err() != nil {
			break
		}
		set.U16() // version
		offset := 4
		if wide {
			offset = 8
		}
		i, ok := byHeader(dwarf.Offset(set.Uint(offset)))
		size := int(set.U8())
		if segment := set.U8(); !ok || segment != 0 || size != 4 && size != 8 {
			continue
		}
		// Tuples are aligned to their size from the header's begin.
		headerSize := r.Offset() - int(n) - begin + set.Offset()
		set.Skip(uint64(-headerSize & (2*size - 1)))
		for set.Len() >= 2*size {
			lo, n := set.Uint(size), set.Uint(size)
			if lo == 0 && n == 0 {
				break
			}
			if lo+n > lo && d.img.Segments.Executable(lo) && d.kept.Draw(spanSize) {
				d.spans = append(d.spans, span{lo, lo + n, i})
			}
		}
	}
}
