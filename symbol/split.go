//go:build !small

package symbol

import (
	"debug/dwarf"
	"path"
	"path/filepath"

	"github.com/backsight/backsight/internal/bin"
)

// Attributes of skeleton units: DWARF 5's, and GNU's before that (GCC wiki, "DebugFission").
const (
	attrDwoName       dwarf.Attr = 0x76
	attrGNUDwoName    dwarf.Attr = 0x2130
	attrGNUDwoID      dwarf.Attr = 0x2131
	attrGNURangesBase dwarf.Attr = 0x2132
	attrGNUAddrBase   dwarf.Attr = 0x2133
)

// skeleton is what a unit of the linked file says of its other part, which the compiler wrote
// into a file of its own (DWARF 5 §3.1.2): only addresses and lines are linked.
type skeleton struct {
	name, dir string
	id        uint64
	version   int
	// addrs and ranges are the unit's parts of .debug_addr and .debug_ranges.
	addrs, ranges []byte
	base          uint64 // the unit's lowest address
}

// splitUnit is the part of a unit that the linker leaves in the compiler's file.
type splitUnit struct {
	version int
	base    uint64
	begin   dwarf.Offset // of the unit in the file's .debug_info
	addrs   []byte
	types   *typeUnits
	contribution
}

// skeletonOf reads the skeleton out of a unit's first entry. ok is false for a unit that is whole.
func (u unitReader) skeletonOf(e *dwarf.Entry) (k skeleton, ok bool) {
	for _, a := range []dwarf.Attr{attrDwoName, attrGNUDwoName} {
		if name, is := e.Val(a).(string); is {
			k.name, ok = name, true
		}
	}
	if !ok {
		return k, false
	}
	k.dir, k.version = u.dir, unitVersion(u.d.img, u.header)
	k.base, _ = e.Val(dwarf.AttrLowpc).(uint64)
	addrBase, _ := e.Val(dwarf.AttrAddrBase).(int64)
	if k.version < 5 {
		id, _ := e.Val(attrGNUDwoID).(int64)
		rangesBase, _ := e.Val(attrGNURangesBase).(int64)
		addrBase, _ = e.Val(attrGNUAddrBase).(int64)
		k.id, k.ranges = uint64(id), from(u.d.section(".debug_ranges"), uint64(rangesBase))
	} else {
		r := bin.New(u.d.img.Sections.Part(".debug_info", uint64(u.header), 24), u.d.big)
		_, wide := unitLength(&r)
		r.Skip(8) // version, unit_type, address_size, debug_abbrev_offset
		if wide {
			r.Skip(4)
		}
		k.id = r.U64()
	}
	k.addrs = from(u.d.section(".debug_addr"), uint64(addrBase))
	return k, true
}

// from is a section from an offset on.
func from(section []byte, off uint64) []byte { return section[min(off, uint64(len(section))):] }

// split replaces a skeleton by the other part of its unit. This part is looked for in the package
// (.dwp) beside the program, in the file that the compiler wrote (.dwo), and in a file of that name
// beside the program. The result tells whether it was found.
func (u unitReader) split(k skeleton) bool {
	beside := filepath.Dir(u.d.img.Path)
	named := filepath.FromSlash(k.name)
	if !path.IsAbs(k.name) {
		named = filepath.Join(filepath.FromSlash(k.dir), named)
	}
	for _, file := range []string{u.d.img.Path + ".dwp", named, filepath.Join(beside, filepath.FromSlash(k.name)), filepath.Join(beside, path.Base(k.name))} {
		section, ok := u.d.img.Debug.Companion(file)
		if !ok {
			continue
		}
		if c, ok := contributionOf(section, k.id, u.d.big); ok && u.openSplit(k, c) {
			return true
		}
	}
	return false
}

// Sizes of the headers in front of the tables that DW_FORM_strx, DW_FORM_loclistx and
// DW_FORM_rnglistx index, in 32-bit DWARF, the only form that compilers write (DWARF 5 §7.26, §7.28,
// §7.29).
const strOffsetsHeader, listsHeader = 8, 12

// openSplit parses the other part of a unit.
func (u unitReader) openSplit(k skeleton, c contribution) bool {
	for at := uint64(0); at < uint64(len(c.info)); {
		r := bin.NewAt(c.info, at, u.d.big)
		n, wide := unitLength(&r)
		size := uint64(r.Offset()) - at + n
		if n == 0 || n > uint64(r.Len()) || wide {
			return false
		}
		h := splitHeader(&r)
		if r.Err() == nil && h.compile && (h.version < 5 || h.id == k.id) {
			return u.parseSplit(k, c, at, size, &h, uint64(r.Offset())-at)
		}
		at += size
	}
	return false
}

// header is the fields in front of the entries of a split unit.
type header struct {
	version int
	abbrev  uint64
	id      uint64
	compile bool
}

func splitHeader(r *bin.Reader) (h header) {
	const utSplitCompile = 0x05
	h.version, h.compile = int(r.U16()), true
	if h.version >= 5 {
		h.compile = r.U8() == utSplitCompile
		r.U8() // address_size
		h.abbrev, h.id = uint64(r.U32()), r.U64()
		return h
	}
	h.abbrev = uint64(r.U32())
	r.U8()
	return h
}

// parseSplit hands the unit to debug/dwarf as if the unit were whole: each section begins with the
// unit's part of that section.
func (u unitReader) parseSplit(k skeleton, c contribution, at, size uint64, h *header, die uint64) bool {
	if h.version >= 5 {
		c.strOffsets, c.ranges, c.locs = from(c.strOffsets, strOffsetsHeader), from(c.ranges, listsHeader), from(c.locs, listsHeader)
	} else {
		c.ranges = k.ranges
	}
	s := &splitUnit{version: h.version, base: k.base, begin: dwarf.Offset(at), addrs: k.addrs, contribution: c}
	if !u.d.kept.Draw(int(min(size, 1<<31))) {
		return false
	}
	info := append([]byte(nil), c.info[at:at+size]...)
	data, table := s.parse(u.d, info, h.abbrev, false)
	if data == nil {
		return false
	}
	parse := func(unit []byte, abbrev uint64, wide bool) *dwarf.Data {
		data, _ := s.parse(u.d, unit, abbrev, wide)
		return data
	}
	s.types = newTypeUnits(u.d, parse,
		typeSection{".debug_types.dwo", func() []byte { return c.types }}, typeSection{".debug_info.dwo", func() []byte { return c.info }})
	u.data, u.info, u.abbrev, u.begin, u.die, u.size, u.other = data, info, table, 0, dwarf.Offset(die), size, s
	return true
}

// parse hands one unit of the file to debug/dwarf. abbrev is the offset of the unit's abbreviations,
// which the result table holds. data is nil where debug/dwarf cannot read the unit.
func (s *splitUnit) parse(d *debugInfo, unit []byte, abbrev uint64, wide bool) (data *dwarf.Data, table []byte) {
	t := abbreviations(s.abbrev, abbrev, d.big)
	if t.cut || t.foreign || t.wide || !d.abbrevs.Draw(t.size) {
		return nil, nil
	}
	table = plainForms(s.abbrev[abbrev:][:t.size], d.big)
	clear(abbrevField(unit, wide, d.big))
	data, err := dwarf.New(table, nil, nil, unit, nil, nil, s.ranges, s.str)
	if err != nil {
		return nil, nil
	}
	for name, content := range map[string][]byte{".debug_addr": s.addrs, ".debug_str_offsets": s.strOffsets, ".debug_rnglists": s.ranges} {
		if data.AddSection(name, content) != nil {
			return nil, nil
		}
	}
	return data, table
}

// section is the unit's part of a section.
func (s *splitUnit) section(name string) []byte {
	switch name {
	case ".debug_addr":
		return s.addrs
	case ".debug_loc", ".debug_loclists":
		return s.locs
	}
	return nil
}

// plainForms replaces GNU's forms of addresses and strings (0x1f01, 0x1f02) by the forms of DWARF 5,
// which debug/dwarf knows and whose values are encoded alike. The number of a GNU form takes two
// bytes of LEB128; the number of the DWARF 5 form is written with a needless second byte.
func plainForms(table []byte, big bool) []byte {
	const gnuAddrIndex, gnuStrIndex, addrx, strx = 0x1f01, 0x1f02, 0x1b, 0x1a
	out := append([]byte(nil), table...)
	r := bin.New(table, big)
	for r.ULEB() != 0 && r.Err() == nil {
		r.ULEB() // tag
		r.U8()   // children
		for r.Err() == nil {
			name, at := r.ULEB(), r.Offset()
			form := r.ULEB()
			if form == formImplicitConst {
				r.SLEB()
			}
			for _, f := range [][2]uint64{{gnuAddrIndex, addrx}, {gnuStrIndex, strx}} {
				if form == f[0] && at+2 <= len(out) {
					out[at], out[at+1] = byte(f[1])|0x80, 0
				}
			}
			if name == 0 && form == 0 {
				break
			}
		}
	}
	return out
}
