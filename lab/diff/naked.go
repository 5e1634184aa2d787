package diff

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// naked is an image as strip -s and the loss of all sections leave it: segments,
// and the relocations that the dynamic linker needs.
type naked struct{ from *image.Image }

func nakedView(img *image.Image) *image.Image { return image.New(img.Header, naked{img}) }

func (naked) Section(string) (image.Section, bool)          { return image.Section{}, false }
func (naked) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (naked) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (naked) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (n naked) Import(addr uint64) (string, bool)           { return n.from.Import(addr) }
func (n naked) Resolver(addr uint64) (uint64, bool)         { return n.from.Resolver(addr) }
func (n naked) Rebased(yield func(uint64) bool) bool        { return n.from.Rebased(yield) }

// Close leaves closing to whoever opened the file.
func (naked) Close() error { return nil }
