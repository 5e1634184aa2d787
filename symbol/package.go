//go:build !small

package symbol

import "github.com/backsight/backsight/internal/bin"

// contribution is what a unit has in the sections of a .dwo file, or of a .dwp package.
type contribution struct {
	info, abbrev, strOffsets, str, locs, ranges []byte
	types                                       []byte // of a .dwo file
}

// contributionOf finds the part of the unit with an ID: of a package by its index, else all.
func contributionOf(section func(string) []byte, id uint64, big bool) (c contribution, ok bool) {
	c = contribution{info: section(".debug_info.dwo"), abbrev: section(".debug_abbrev.dwo"), strOffsets: section(".debug_str_offsets.dwo"),
		str: section(".debug_str.dwo"), locs: section(".debug_loclists.dwo"), ranges: section(".debug_rnglists.dwo")}
	if c.locs == nil {
		c.locs = section(".debug_loc.dwo")
	}
	if index := section(".debug_cu_index"); len(index) > 0 {
		return c.of(index, id, big)
	}
	c.types = section(".debug_types.dwo")
	return c, len(c.info) > 0 && len(c.abbrev) > 0
}

// Sections by the numbers of an index (DWARF 5, table 7.1; GNU's version 2 has 5 and 6 in the
// same places).
const (
	sectInfo, sectAbbrev, sectLocs, sectStrOffsets, sectRnglists = 1, 3, 5, 6, 8
)

// of looks a unit up in a package's index (DWARF 5 §7.3.5.3): a hash table of IDs, the rows that
// they have, and for each row where its parts are and how large.
func (c contribution) of(index []byte, id uint64, big bool) (contribution, bool) {
	r := bin.New(index, big)
	version, columns, units, slots := r.U32(), uint64(r.U32()), uint64(r.U32()), uint64(r.U32())
	if big && version > 0xffff {
		version >>= 16 // a half and padding
	}
	const slot = 12 // bytes: an ID and a row
	if r.Err() != nil || version != 2 && version != 5 || slots > uint64(len(index))/slot || columns > 8 {
		return c, false
	}
	rows := r
	rows.Skip(8 * slots)
	for range slots {
		key, row := r.U64(), uint64(rows.U32())
		if key != id || row == 0 || row > units {
			continue
		}
		return c.row(index, big, rowOf{columns: columns, units: units, row: row - 1, at: 16 + slot*slots, version: version})
	}
	return c, false
}

// rowOf is a row of an index, whose numbers of sections are at at.
type rowOf struct {
	columns, units, row, at uint64
	version                 uint32
}

// row cuts the sections to what a row says.
func (c contribution) row(index []byte, big bool, w rowOf) (contribution, bool) {
	numbers := bin.NewAt(index, w.at, big)
	offsets := bin.NewAt(index, w.at+4*w.columns*(1+w.row), big)
	sizes := bin.NewAt(index, w.at+4*w.columns*(1+w.units+w.row), big)
	for range w.columns {
		n, off, size := numbers.U32(), uint64(offsets.U32()), uint64(sizes.U32())
		var part *[]byte
		switch {
		case n == sectInfo:
			part = &c.info
		case n == sectAbbrev:
			part = &c.abbrev
		case n == sectLocs:
			part = &c.locs
		case n == sectStrOffsets:
			part = &c.strOffsets
		case n == sectRnglists && w.version == 5:
			part = &c.ranges
		default:
			continue
		}
		if off+size > uint64(len(*part)) {
			return c, false
		}
		*part = (*part)[off : off+size]
	}
	return c, numbers.Err() == nil && offsets.Err() == nil && sizes.Err() == nil && len(c.info) > 0
}
