package symbol_test

import (
	"bytes"
	"iter"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

// TestPrepare: what is prepared is what is found one by one, in whatever order units
// and addresses are, and where units cannot be read by themselves.
func TestPrepare(t *testing.T) {
	unit := handMade()[".debug_info"]
	second := len(unit)
	set := func(header int, lo, n uint64) b {
		return b{}.sized(b{}.u16(2).u32(header).u8(8, 0).u32(0).u64(lo).u64(n).u64(0).u64(0))
	}
	for name, aranges := range map[string]b{
		"no ranges":         nil,
		"a unit":            set(0, text, 0x40),
		"gaps":              set(0, text+0x10, 0x20),
		"in another order":  append(set(second, text, 0x18), set(0, text+0x18, 0x28)...),
		"overlapping units": append(set(0, text, 0x18), set(4, text+0x18, 0x28)...),
		"no such unit":      append(set(0, text, 0x18), set(0x7000, text+0x18, 0x28)...),
	} {
		t.Run(name, func(t *testing.T) {
			s := handMade()
			s[".debug_info"], s[".debug_aranges"] = bytes.Repeat(unit, 2), aranges
			var names symbol.Symbolizer
			one, prepared, other := fileOf(t, s), fileOf(t, s), fileOf(t, handMade())
			if err := names.Prepare(t.Context(), all(other, prepared, other)); err != nil {
				t.Fatal(err)
			}
			for addr := uint64(text); addr < text+0x48; addr++ {
				want, got := describe(names.Lookup(of(one), addr)), describe(names.Lookup(of(prepared), addr))
				if got != want {
					t.Errorf("%#x: %s, want %s", addr, got, want)
				}
			}
		})
	}
}

// of is the module of an image that is mapped where it was linked.
func of(img *image.Image) *target.Module { return &target.Module{Image: img} }

// all yields the addresses of handMade, backwards, in several images.
func all(imgs ...*image.Image) iter.Seq2[*target.Module, uint64] {
	return func(yield func(*target.Module, uint64) bool) {
		for addr := uint64(text + 0x47); addr >= text; addr-- {
			for _, img := range imgs {
				yield(of(img), addr)
			}
		}
	}
}
