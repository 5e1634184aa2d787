package kernel

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// closing is a Container for an image that was unwrapped from a file: it closes that file, which
// the Container within does not know.
type closing struct {
	image.Container
	file *image.File
}

// Unwrap implements image.Wrapper.
func (c *closing) Unwrap() image.Container { return c.Container }

// Files implements image.Backer.
func (c *closing) Files() []*image.File {
	files := []*image.File{c.file}
	if b, ok := image.ContainerAs[image.Backer](c.Container); ok {
		files = append(files, b.Files()...)
	}
	return files
}

// Close implements image.Container.
func (c *closing) Close() error {
	err := c.Container.Close()
	if own := c.file.Close(); err == nil {
		err = own
	}
	return err
}

// nothing is the Container of a file without sections and symbols.
type nothing struct{}

func (nothing) Section(string) (image.Section, bool)          { return image.Section{}, false }
func (nothing) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (nothing) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (nothing) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (nothing) Close() error                                  { return nil }
