package symbol_test

import (
	"testing"

	"github.com/backsight/backsight/symbol"
)

// shared are sections that refer to those of a supplementary file; nil: there is none.
type shared struct {
	sections
	other sections
}

func (s shared) Supplement() (func(name string) []byte, bool) {
	return func(name string) []byte { return s.other[name] }, s.other != nil
}

// TestSupplement: names of functions, and functions that were inlined, out of the supplementary
// file, in dwz's forms and in those of DWARF 5.
func TestSupplement(t *testing.T) {
	entry := b{}.u16(5).u8(1, 8).u32(0).u8(1).cstring("").cstring("").u64(0).u32(0).u32(0)
	inner := 4 + len(entry)
	other := sections{
		".debug_abbrev": abbrev, ".debug_str": b{}.cstring("/src").cstring("outer"),
		".debug_info": b{}.sized(append(entry.u8(3).cstring("inner"), 0)),
	}
	for name, form := range map[string]struct{ ref, str b }{"dwz": {b{0xa0, 0x3e}, b{0xa1, 0x3e}}, "DWARF 5": {b{0x1c}, b{0x1d}}} {
		abbrev := append(b{1, 0x11, 1, 0x1b}, form.str...) // unit: comp_dir, low_pc, high_pc, stmt_list
		abbrev = abbrev.u8(0x11, 0x01, 0x12, 0x06, 0x10, 0x17, 0, 0)
		abbrev = append(append(abbrev, 2, 0x2e, 1, 0x03), form.str...) // function: name, low_pc, high_pc
		abbrev = abbrev.u8(0x11, 0x01, 0x12, 0x06, 0, 0)
		abbrev = append(append(abbrev, 4, 0x1d, 0, 0x31), form.ref...) // inlined: origin, low_pc, high_pc, call_file, call_line
		abbrev = abbrev.u8(0x11, 0x01, 0x12, 0x06, 0x58, 0x0b, 0x59, 0x0b, 0, 0, 0)
		body := b{}.u16(5).u8(1, 8).u32(0).u8(1).u32(0).u64(text).u32(0x100).u32(0)
		body = body.u8(2).u32(len("/src") + 1).u64(text).u32(0x40)
		body = body.u8(4).u32(inner).u64(text+0x18).u32(8).u8(1, 11).u8(0, 0)
		s := sections{".debug_abbrev": abbrev, ".debug_info": b{}.sized(body), ".debug_line": lines()}
		for _, c := range []struct {
			other sections
			want  string
		}{
			{other, "inner /src/include/inner.h:6 in outer@1000 /src/include/inner.h:11"},
			{nil, " include/inner.h:6 in @1000 include/inner.h:11"},
			{sections{".debug_info": b{1, 2, 3}}, " include/inner.h:6 in @1000 include/inner.h:11"},
		} {
			var names symbol.Symbolizer
			img := fileOf(t, shared{s, c.other})
			if got := describe(names.Lookup(of(img), text+0x18)); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		}
	}
}
