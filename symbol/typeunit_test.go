//go:build !small

package symbol_test

import (
	"debug/dwarf"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/die"
	"github.com/backsight/backsight/internal/synth/meter"
	"github.com/backsight/backsight/symbol"
)

// typeAbbrev: 1 type unit, 2 structure with a name, 3 member of the type at an offset.
var typeAbbrev = b{1, 0x41, 1, 0, 0, 2, 0x13, 1, 0x03, 0x08, 0, 0, 3, 0x0d, 0, 0x49, 0x13, 0, 0, 0}

// typed is the hand-made file and the unit of a type that has itself as a member, with abbreviations
// of its own.
func typed(version uint16, wide bool, signature uint64) sections {
	s := handMade()
	at := len(s[".debug_abbrev"])
	s[".debug_abbrev"] = append(append(b{}, s[".debug_abbrev"]...), typeAbbrev...)
	word := func(w b, v int) b {
		if wide {
			return w.u64(uint64(v))
		}
		return w.u32(v)
	}
	unit, length := b{}.u16(version), 4
	if wide {
		length = 12
	}
	if version >= 5 {
		unit = word(unit.u8(0x02, 8), at)
	} else {
		unit = word(unit, at).u8(8)
	}
	unit = unit.u64(signature)
	entry := length + len(word(unit, 0)) + 1
	unit = word(unit, entry).u8(1, 2).cstring("point").u8(3).u32(entry).u8(0, 0)
	if wide {
		unit = append(b{}.u32(-1).u64(uint64(len(unit))), unit...)
	} else {
		unit = b{}.sized(unit)
	}
	if version >= 5 {
		s[".debug_info"] = append(append(b{}, s[".debug_info"]...), unit...)
	} else {
		s[".debug_types"] = unit
	}
	return s
}

// typeOf is the name of the type with a signature, and of the types of its members, as the unit of an
// address sees them.
func typeOf(t *testing.T, s image.Container, signature uint64) (names []string) {
	t.Helper()
	var syms symbol.Symbolizer
	found := syms.Scope(of(fileOf(t, s)), text+0x18, func(sc symbol.Scope) {
		e, ok := sc.At(die.Ref{Signature: signature})
		if !ok {
			return
		}
		name, _ := sc.Text(e, dwarf.AttrName)
		names = append(names, name)
		r := sc.Reader(e.Within)
		r.Seek(e.Offset)
		for range 4 {
			child, err := r.Next()
			if err != nil || child == nil {
				return
			}
			if at, ok := (die.Entry{Entry: child, Within: e.Within}).Refers(dwarf.AttrType); ok {
				m, _ := sc.At(at)
				name, _ := sc.Text(m, dwarf.AttrName)
				names = append(names, name)
			}
		}
	})
	if !found {
		t.Fatal("no scope")
	}
	return names
}

// TestTypeUnit: a type is found by its signature, in each form of unit, and what it refers to in its
// unit as well.
func TestTypeUnit(t *testing.T) {
	for _, version := range []uint16{4, 5} {
		for _, wide := range []bool{false, true} {
			s := typed(version, wide, 0x1234)
			if got := typeOf(t, s, 0x1234); len(got) != 2 || got[0] != "point" || got[1] != "point" {
				t.Errorf("DWARF %d, 64 bits %v: %q", version, wide, got)
			}
			if got := typeOf(t, s, 0x1235); got != nil {
				t.Errorf("another signature: %q", got)
			}
		}
	}
}

// FuzzTypeUnits reads any type units, with any abbreviations.
func FuzzTypeUnits(f *testing.F) {
	for _, version := range []uint16{4, 5} {
		s := typed(version, version == 5, 1)
		f.Add(s[".debug_abbrev"], s[".debug_types"], s[".debug_info"])
	}
	f.Fuzz(func(t *testing.T, abbrev, types, info []byte) {
		img := fileOf(t, sections{".debug_abbrev": abbrev, ".debug_types": types, ".debug_info": info})
		var names symbol.Symbolizer
		meter.Allocations(t, len(abbrev)+len(types)+len(info), func() {
			names.Scope(of(img), text+0x18, func(sc symbol.Scope) {
				if e, ok := sc.At(die.Ref{Signature: 1}); ok {
					_, _ = e.Refers(dwarf.AttrType)
					_, _ = sc.Text(e, dwarf.AttrName)
				}
			})
		})
	})
}
