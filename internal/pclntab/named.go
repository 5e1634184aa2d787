package pclntab

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// Named is a format whose images have, besides their symbols, the functions of their tables: a
// stripped Go program has no others.
func Named(format image.Format) image.Format {
	open := format.Open
	format.Open = func(f *image.File, opt image.Options) (*image.Image, error) {
		img, err := open(f, opt)
		if err != nil {
			return nil, err
		}
		return named(img), nil
	}
	return format
}

// named gives an image the functions of its table, if no symbols name them.
func named(img *image.Image) *image.Image {
	t := Of(img)
	if t == nil {
		return img
	}
	if f, ok := t.function(0); ok {
		if s, has := img.Symbols.At(f.Lo); has && s.Addr == f.Lo {
			return img
		}
	}
	return image.New(img.Header, &container{img.Container(), t})
}

// container has the functions of a table besides its own.
type container struct {
	image.Container
	table *Table
}

// Unwrap implements image.Wrapper.
func (c *container) Unwrap() image.Container { return c.Container }

// SymbolAt implements image.Container.
func (c *container) SymbolAt(addr uint64) (image.Symbol, bool) {
	if f, ok := c.table.At(addr); ok {
		return image.Symbol{Name: f.Name(), Addr: f.Lo, Size: f.Hi - f.Lo}, true
	}
	return c.Container.SymbolAt(addr)
}

// Functions implements image.Container.
func (c *container) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	image.EachFunction(yield, c.table.all, c.Container.Functions)
}
