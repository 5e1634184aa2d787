//go:build !small

package symbol_test

import (
	"debug/dwarf"
	"testing"

	"github.com/backsight/backsight/internal/die"
	"github.com/backsight/backsight/internal/synth/meter"
	"github.com/backsight/backsight/symbol"
)

// parted are sections whose units' other parts are in a file beside.
type parted struct {
	sections
	beside sections
}

func (p parted) Companion(string) (section func(name string) []byte, ok bool) {
	return func(name string) []byte { return p.beside[name] }, p.beside != nil
}

// skeleton is a unit of DWARF 5 at 0x1000 whose other part has ID 1.
func skeleton() sections {
	// dwo_name, comp_dir, low_pc, high_pc, stmt_list
	abbrev := b{1, 0x4a, 0, 0x76, 0x08, 0x1b, 0x08, 0x11, 0x01, 0x12, 0x06, 0x10, 0x17, 0, 0, 0}
	body := b{}.u16(5).u8(4, 8).u32(0).u64(1).u8(1).cstring("main.dwo").cstring("/src").u64(text).u32(0x100).u32(0)
	return sections{".debug_abbrev": abbrev, ".debug_info": b{}.sized(body), ".debug_line": lines()}
}

// otherPart is that part: a function with an argument of a type.
func otherPart() sections {
	abbrev := b{
		1, 0x11, 1, 0x03, 0x08, 0, 0, // unit: name
		2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0, 0, // function: name, low_pc, high_pc
		3, 0x05, 0, 0x03, 0x08, 0x49, 0x13, 0, 0, // argument: name, type
		4, 0x24, 0, 0x03, 0x08, 0x0b, 0x0b, 0, 0, 0, // type: name, size
	}
	body := b{}.u16(5).u8(5, 8).u32(0).u64(1).u8(1).cstring("main.c")
	kind := 4 + len(body)
	body = body.u8(4).cstring("int").u8(4)
	body = body.u8(2).cstring("outer").u64(text).u32(0x40).u8(3).cstring("argc").u32(kind).u8(0, 0)
	return sections{".debug_abbrev.dwo": abbrev, ".debug_info.dwo": b{}.sized(body)}
}

// index is that of a package with this one unit.
func index(s sections) b {
	hash := b{}.u32(5).u32(2).u32(1).u32(2) // version, columns, units, slots
	hash = hash.u64(0).u64(1).u32(0).u32(1).u32(1).u32(3)
	return hash.u32(0).u32(0).u32(len(s[".debug_info.dwo"])).u32(len(s[".debug_abbrev.dwo"]))
}

// TestSplit: the names of a unit's other part, in a file and in a package.
func TestSplit(t *testing.T) {
	other := otherPart()
	inPackage := otherPart()
	inPackage[".debug_cu_index"] = index(other)
	for name, beside := range map[string]sections{"file": other, "package": inPackage} {
		var names symbol.Symbolizer
		got := describe(names.Lookup(of(fileOf(t, parted{skeleton(), beside})), text+0x18))
		if want := "outer@1000 /src/include/inner.h:6"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// FuzzSplit reads any other part of a unit, out of a file or a package.
func FuzzSplit(f *testing.F) {
	s := otherPart()
	f.Add(s[".debug_abbrev.dwo"], s[".debug_info.dwo"], []byte(nil), []byte(nil), []byte(nil), false)
	f.Add(s[".debug_abbrev.dwo"], s[".debug_info.dwo"], []byte(index(s)), []byte{0, 0, 0, 0}, []byte("text\x00"), false)
	f.Add(s[".debug_abbrev.dwo"], s[".debug_info.dwo"], []byte(index(s)), []byte(nil), []byte(nil), true)
	f.Fuzz(func(t *testing.T, abbrev, info, index, offsets, other []byte, typed bool) {
		beside := sections{".debug_abbrev.dwo": abbrev, ".debug_info.dwo": info, ".debug_cu_index": index,
			".debug_str_offsets.dwo": offsets, ".debug_str.dwo": other, ".debug_rnglists.dwo": other, ".debug_loclists.dwo": other}
		if typed {
			beside[".debug_types.dwo"] = other
		}
		img := fileOf(t, parted{skeleton(), beside})
		var names symbol.Symbolizer
		meter.Allocations(t, len(abbrev)+len(info)+len(index)+len(offsets)+len(other), func() {
			_ = names.Lookup(of(img), text+0x18)
			names.Scope(of(img), text+0x18, func(sc symbol.Scope) {
				if e, ok := sc.At(die.Ref{Signature: 1}); ok {
					_, _ = e.Refers(dwarf.AttrType)
				}
			})
		})
	})
}
