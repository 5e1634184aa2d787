package corrupt

import "strings"

// named are the fields of sections that are known by name: unwind tables and debug
// information. Lengths and offsets are numbers, all else is coded.
func (f *elfFile) named(name string, off, size int) []group {
	g := group{name: name, order: f.order}
	switch {
	case name == ".debug_info" || name == ".debug_types":
		// Length, version, unit type, address size, offset of abbreviations (DWARF 5, 7.5.1).
		f.units(&g, off, size, 4, 2, 1, 1, 4)
	case name == ".debug_line":
		// Length, version, sizes, header length, the line program's parameters (6.2.4).
		f.units(&g, off, size, 4, 2, 1, 1, 4, 1, 1, 1, 1, 1, 1)
	case name == ".debug_aranges" || strings.HasPrefix(name, ".debug_rnglists"):
		f.units(&g, off, size, 4, 2, 4, 1, 1)
	case name == ".eh_frame" || name == ".debug_frame":
		f.units(&g, off, size, 4, 4, 1)
	case name == ".eh_frame_hdr":
		g.add(f.b, off, 1, 1, 1, 1, 4, 4)
		f.words(&g, off+12, size-12)
	case strings.HasPrefix(name, ".ARM.ex") || name == ".pdr":
		f.words(&g, off, size)
	case strings.HasPrefix(name, ".debug_"), name == ".ARM.attributes", name == ".gnu_debuglink", name == ".gnu_debugdata":
		g.addCoded(f.b, off, size)
	}
	return []group{g}
}

// units are parts of a section that begin with their length.
func (f *elfFile) units(g *group, off, size int, header ...int) {
	for end := off + size; off+4 < end && len(g.fields) < most; {
		n := f.number(off, 4)
		behind := g.add(f.b, off, header...)
		if n < 0 || off+4+n > end {
			return
		}
		off += 4 + n
		g.addCoded(f.b, behind, off-behind)
	}
}

// words are numbers of four bytes.
func (f *elfFile) words(g *group, off, size int) {
	for end := off + size; off+4 <= end && len(g.fields) < most; off += 4 {
		g.add(f.b, off, 4)
	}
}
