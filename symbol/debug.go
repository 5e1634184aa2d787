package symbol

import (
	"debug/dwarf"
	"sort"

	"github.com/backsight/backsight/image"
)

// debugInfo is the DWARF of one image. Units are found by their address ranges;
// what a unit says is read when it is first hit.
type debugInfo struct {
	img  *image.Image
	data *dwarf.Data // nil: there is none, or it is damaged
	sections
	units []unit
	spans []span // sorted by lo; of is an index in units
}

// sections are the parts of DWARF that are read here, not by debug/dwarf.
type sections struct {
	big                            bool
	info, abbrev, aranges          []byte
	line, str, lineStr, strOffsets []byte
}

// span is a range of image addresses that belongs to something.
type span struct {
	lo, hi uint64
	of     int
}

// debugOf finds an image's DWARF, with every unit's ranges.
func debugOf(img *image.Image) *debugInfo {
	d := &debugInfo{img: img}
	d.guard(func() {
		d.load()
		if d.data != nil {
			d.indexUnits()
		}
	})
	return d
}

// guard runs f. debug/dwarf reads what compilers write; on what an attacker wrote
// it may panic, and then the image has no DWARF. That it does not run away is
// ensured where it is called: by what is checked before dwarf.New, and by budgets.
// This is the only place where a panic is caught.
func (d *debugInfo) guard(f func()) {
	defer func() {
		if recover() != nil {
			d.data, d.units, d.spans = nil, nil, nil
		}
	}()
	f()
}

// load hands the sections to debug/dwarf, where they are fit for it.
func (d *debugInfo) load() {
	get := func(name string) []byte {
		s, _ := d.img.Section(name)
		return s.Data
	}
	d.sections = sections{
		big:  d.img.Arch.BigEndian,
		info: get(".debug_info"), abbrev: get(".debug_abbrev"), aranges: get(".debug_aranges"),
		line: get(".debug_line"), str: get(".debug_str"), lineStr: get(".debug_line_str"), strOffsets: get(".debug_str_offsets"),
	}
	if len(d.info) == 0 || !d.readUnits() {
		return
	}
	data, err := dwarf.New(d.abbrev, nil, nil, d.info, d.line, nil, get(".debug_ranges"), d.str)
	if err != nil {
		return
	}
	for _, name := range []string{".debug_addr", ".debug_line_str", ".debug_str_offsets", ".debug_rnglists"} {
		if err := data.AddSection(name, get(name)); err != nil {
			return
		}
	}
	d.data = data
}

// locate says what DWARF knows of an address.
func (d *debugInfo) locate(addr uint64) (l Location) {
	i, ok := covering(d.spans, addr)
	if !ok || d.data == nil {
		return l
	}
	d.guard(func() {
		u := &d.units[i]
		d.read(u)
		l = d.locateIn(u, addr)
	})
	return l
}

// locateIn names an address of a unit that has been read.
func (d *debugInfo) locateIn(u *unit, addr uint64) Location {
	l := Location{Dir: u.dir}
	file, line := u.lines.find(addr)
	if i, ok := covering(u.functions, addr); ok {
		f := d.function(u, dwarf.Offset(i), addr)
		l.Function, l.Entry = f.name, f.entry
		// Every caller's place is that of the call inlined into it.
		for k := len(f.inlined) - 1; k >= 0; k-- {
			in := &f.inlined[k]
			l.Inlines = append(l.Inlines, Inline{Function: in.name, File: file, Line: line})
			file, line = u.lines.file(in.callFile), in.callLine
		}
	}
	l.File, l.Line = file, line
	return l
}

// lookBack is how many spans before the nearest one may enclose an address:
// functions nested in functions, units that enclose gaps of others.
const lookBack = 16

// covering finds what the innermost span around addr belongs to.
func covering(spans []span, addr uint64) (of int, ok bool) {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].lo > addr })
	for k := i - 1; k >= 0 && k >= i-lookBack; k-- {
		if addr < spans[k].hi {
			return spans[k].of, true
		}
	}
	return 0, false
}

// sortSpans puts spans in the order that covering needs: by lo, inner ones last.
func sortSpans(s []span) {
	sort.SliceStable(s, func(i, j int) bool {
		if s[i].lo != s[j].lo {
			return s[i].lo < s[j].lo
		}
		return s[i].hi > s[j].hi
	})
}
