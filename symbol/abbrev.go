//go:build !small

package symbol

import "github.com/backsight/backsight/internal/bin"

// abbrevTable describes the abbreviations of a unit.
type abbrevTable struct {
	size int
	// foreign: attributes refer to other units.
	foreign bool
	// cut: the table does not end. wide: it has a DIE of more than maxAttrs.
	cut, wide bool
}

// abbreviations walks through the table at an offset (§7.5.3).
func abbreviations(section []byte, at uint64, big bool) (t abbrevTable) {
	r := bin.New(section, big)
	r.Seek(at)
	for r.ULEB() != 0 && r.Err() == nil {
		r.ULEB() // tag
		r.U8()   // children
		for n := 0; r.Err() == nil; n++ {
			t.wide = t.wide || n > maxAttrs
			name, form := r.ULEB(), r.ULEB()
			if form == formImplicitConst {
				r.SLEB()
			}
			t.foreign = t.foreign || form == formRefAddr
			if name == 0 && form == 0 {
				break
			}
		}
	}
	t.size, t.cut = r.Offset()-int(min(at, uint64(r.Offset()))), r.Err() != nil
	return t
}

// abbrevField is the offset of the abbreviations in a unit that has a header (§7.5.1).
func abbrevField(unit []byte, wide, big bool) []byte {
	at, size := 4, 4
	if wide {
		at, size = 12, 8
	}
	if bin.Uint(unit[at:at+2], big) >= 5 {
		at += 2 // unit_type, address_size
	}
	return unit[at+2:][:size]
}

// ownAbbrevs are the abbreviations at an offset, for a unit that refers to no other.
func ownAbbrevs(d *debugInfo, at uint64) ([]byte, bool) {
	for n := uint64(1 << 15); ; n *= 2 {
		table := d.img.Sections.Part(".debug_abbrev", at, n)
		t := abbreviations(table, 0, d.big)
		if t.cut && uint64(len(table)) == n {
			continue
		}
		return table[:min(t.size, len(table))], !t.cut && !t.foreign && !t.wide && d.abbrevs.Draw(t.size)
	}
}
