package kernel

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// closing is a Container that closes a file that it does not read, or not by itself.
type closing struct {
	image.Container
	file *image.File
}

// Files implements image.Backer.
func (c *closing) Files() []*image.File { return append(filesOf(c.Container), c.file) }

// Close implements image.Container.
func (c *closing) Close() error {
	err := c.Container.Close()
	if own := c.file.Close(); err == nil {
		err = own
	}
	return err
}

func filesOf(c image.Container) []*image.File {
	if b, ok := c.(image.Backer); ok {
		return b.Files()
	}
	return nil
}

// nothing is the Container of a file without sections and symbols.
type nothing struct{}

func (nothing) Section(string) (image.Section, bool)          { return image.Section{}, false }
func (nothing) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (nothing) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (nothing) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (nothing) Close() error                                  { return nil }
