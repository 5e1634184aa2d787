package image_test

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// bare is a Container that has nothing.
type bare struct{}

func (bare) Section(string) (image.Section, bool)          { return image.Section{}, false }
func (bare) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (bare) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (bare) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (bare) Close() error                                  { return nil }

// linked is a file's Container with what only some formats tell.
type linked struct {
	bare
	files []*image.File
}

func (linked) Hollow() bool                                 { return true }
func (linked) Import(uint64) (string, bool)                 { return "malloc", true }
func (linked) Rebased(func(uint64) bool) bool               { return true }
func (linked) SectionSize(string) uint64                    { return 7 }
func (linked) SectionPart(string, uint64, uint64) []byte    { return []byte("part") }
func (linked) Supplement() (func(string) []byte, bool)      { return nil, true }
func (linked) Companion(string) (func(string) []byte, bool) { return nil, true }
func (l linked) Files() []*image.File                       { return l.files }

// wrapping has names of its own.
type wrapping struct {
	bare
	rest image.Container
}

func (wrapping) SymbolAt(uint64) (image.Symbol, bool) { return image.Symbol{Name: "own"}, true }
func (w wrapping) Unwrap() image.Container            { return w.rest }

// TestWrapper: an image with names from elsewhere tells all else that its file does, through as
// many wrappers as there are.
func TestWrapper(t *testing.T) {
	img := image.New(image.Header{}, wrapping{rest: wrapping{rest: linked{}}})
	if s, ok := img.Symbols.At(0); !ok || s.Name != "own" {
		t.Errorf("SymbolAt: %v, %t", s, ok)
	}
	if name, ok := img.Import(0); !ok || name != "malloc" {
		t.Errorf("Import: %q, %t", name, ok)
	}
	_, supplement := img.Debug.Supplement()
	_, companion := img.Debug.Companion("x")
	if !img.Hollow() || !img.Rebased(nil) || !supplement || !companion {
		t.Errorf("hollow %t, rebased %t, supplement %t, companion %t", img.Hollow(), img.Rebased(nil), supplement, companion)
	}
	if size, part := img.Sections.Size(".debug_info"), img.Sections.Part(".debug_info", 0, 4); size != 7 || string(part) != "part" {
		t.Errorf("section of %d bytes, part %q", size, part)
	}
	none := image.New(image.Header{}, wrapping{rest: wrapping{}})
	if _, ok := none.Import(0); ok || none.Hollow() {
		t.Error("a wrapper of nothing tells more than its own")
	}
}
