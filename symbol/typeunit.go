//go:build !small

package symbol

import (
	"bytes"
	"debug/dwarf"
	"sync"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/die"
)

// typeUnits are types that are described once for all units that use them (gcc
// -fdebug-types-section): in .debug_types, since DWARF 5 in .debug_info.
type typeUnits struct {
	d        *debugInfo    // what the units may cost
	sections []typeSection // those that may have type units
	parse    typeParser

	listed int                  // sections[:listed] are in places
	places map[uint64]typePlace // by signature
	opened map[uint64]*die.TypeUnit
}

// typeParser hands a unit, whose abbreviations are at an offset, to debug/dwarf; nil where that does
// not read it.
type typeParser func(unit []byte, abbrev uint64, wide bool) *dwarf.Data

// typeSection is a section, which is read when a type is first asked for.
type typeSection struct {
	name string
	data func() []byte
}

// typePlace is where a type unit is.
type typePlace struct {
	section int // of sections
	at      uint64
}

// typeHeader is what precedes the entries of a type unit (DWARF 5 §7.5.1.3, DWARF 4 §7.5.1.2).
type typeHeader struct {
	version           int
	abbrev, signature uint64
	typ               uint64 // where the type is in the unit
	// common and entries are where the part ends that a compilation unit of DWARF 4 has as well, and
	// where entries begin, in the unit; size is that of all.
	common, entries, size uint64
	wide                  bool
}

// The unit types of type units: in the linked file, and in a .dwo file beside it.
const (
	utType      = 0x02
	utSplitType = 0x06
)

// readTypeHeader reads the header of the unit at an offset of a section. isType is false for other
// units, ok where there is none.
func readTypeHeader(section []byte, at uint64, big bool) (h typeHeader, isType, ok bool) {
	r := bin.NewAt(section, at, big)
	n, wide := unitLength(&r)
	h.size, h.wide = uint64(r.Offset())-at+n, wide
	if r.Err() != nil || n == 0 || n > uint64(r.Len()) {
		return h, false, false
	}
	offset := 4
	if wide {
		offset = 8
	}
	h.version, isType = int(r.U16()), true
	if h.version >= 5 {
		kind := r.U8()
		isType = kind == utType || kind == utSplitType
		r.U8() // address_size
		h.abbrev = r.Uint(offset)
	} else {
		h.abbrev = r.Uint(offset)
		r.U8()
	}
	h.common = uint64(r.Offset()) - at
	h.signature, h.typ = r.U64(), r.Uint(offset)
	h.entries = uint64(r.Offset()) - at
	return h, isType && r.Err() == nil && h.typ >= h.entries && h.typ < h.size, true
}

// typeSize is what the place of a type unit takes in memory.
const typeSize = 64

// newTypeUnits are those of sections.
func newTypeUnits(d *debugInfo, parse typeParser, sections ...typeSection) *typeUnits {
	for i := range sections {
		sections[i].data = sync.OnceValue(sections[i].data)
	}
	return &typeUnits{d: d, sections: sections, parse: parse, places: make(map[uint64]typePlace), opened: make(map[uint64]*die.TypeUnit)}
}

// unit opens the unit of the type with a signature, nil where there is none that can be read.
func (t *typeUnits) unit(signature uint64) *die.TypeUnit {
	u, known := t.opened[signature]
	if known || !t.d.kept.Draw(typeSize) {
		return u
	}
	place, ok := t.places[signature]
	for ; !ok && t.listed < len(t.sections); t.listed++ {
		t.list(t.listed)
		place, ok = t.places[signature]
	}
	if ok {
		u = t.open(place)
	}
	t.opened[signature] = u
	return u
}

// list finds the type units of a section. Of several with a signature, which a linker left where
// it should have kept one, all are alike.
func (t *typeUnits) list(section int) {
	data := t.sections[section].data()
	for at := uint64(0); at < uint64(len(data)); {
		h, isType, ok := readTypeHeader(data, at, t.d.big)
		if !ok || !t.d.work.Draw(1) {
			return
		}
		if isType {
			if !t.d.kept.Draw(typeSize) {
				t.d.leaveOut(t.sections[section].name, at, t.d.kept.Err())
				return
			}
			t.places[h.signature] = typePlace{section, at}
		}
		at += h.size
	}
}

// open reads a type unit alone. debug/dwarf knows those of .debug_types by its own types only, not
// by entries: it is given the unit as a compilation unit, with zeros, which are no entries, for
// what the header has more.
func (t *typeUnits) open(place typePlace) *die.TypeUnit {
	section := &t.sections[place.section]
	h, _, _ := readTypeHeader(section.data(), place.at, t.d.big)
	if !t.d.kept.Draw(int(min(h.size, 1<<31))) {
		t.d.leaveOut(section.name, place.at, t.d.kept.Err())
		return nil
	}
	unit := bytes.Clone(section.data()[place.at:][:h.size])
	if h.version < 5 {
		clear(unit[h.common:h.entries])
	}
	data := t.parse(unit, h.abbrev, h.wide)
	if data == nil {
		return nil
	}
	return &die.TypeUnit{Data: data, Type: dwarf.Offset(h.typ)}
}

// typeUnit opens the unit of a type that the unit refers to, nil where there is none.
func (u unitReader) typeUnit(signature uint64) *die.TypeUnit {
	if u.other != nil {
		return u.other.types.unit(signature)
	}
	return linkedTypes(u.d).unit(signature)
}

// linkedTypes are the type units of the linked file.
func linkedTypes(d *debugInfo) *typeUnits {
	if d.typeUnits == nil {
		parse := func(unit []byte, abbrev uint64, wide bool) *dwarf.Data {
			table, ok := ownAbbrevs(d, abbrev)
			if !ok {
				return nil
			}
			clear(abbrevField(unit, wide, d.big))
			return d.parse(table, unit)
		}
		read := func(name string) typeSection { return typeSection{name, func() []byte { return d.section(name) }} }
		d.typeUnits = newTypeUnits(d, parse, read(".debug_types"), read(".debug_info"))
	}
	return d.typeUnits
}
