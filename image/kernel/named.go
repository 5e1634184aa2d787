package kernel

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/kallsyms"
)

// Named is an image with the names of a table, which has image addresses, instead of its
// own. img is not used otherwise from then on.
func Named(img *image.Image, table *kallsyms.Table) *image.Image {
	c := img.Container()
	if c == nil {
		c = nothing{}
	}
	return image.New(img.Header, &named{c, img.Arch, table})
}

// named is a Container with names from elsewhere.
type named struct {
	image.Container
	arch  *cpu.Arch
	table *kallsyms.Table
}

func (n *named) symbol(s kallsyms.Symbol) image.Symbol {
	addr, mode := n.arch.SplitCode(s.Addr)
	return image.Symbol{Name: s.Name, Addr: addr, Mode: mode, Size: s.Size}
}

// SymbolAt implements image.Container. Data has no functions: the last function does not
// reach beyond the first symbol of data.
func (n *named) SymbolAt(addr uint64) (image.Symbol, bool) {
	s, ok := n.table.At(addr)
	if !ok || !s.Code() {
		return image.Symbol{}, false
	}
	return n.symbol(s), true
}

// Functions implements image.Container.
func (n *named) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	n.table.Functions(func(addr, size uint64) bool {
		a, mode := n.arch.SplitCode(addr)
		return yield(a, mode, size)
	})
}

// SymbolNamed implements image.Container.
func (n *named) SymbolNamed(name string) (image.Symbol, bool) {
	s, ok := n.table.Named(name)
	return n.symbol(s), ok
}

// Files implements image.Backer.
func (n *named) Files() []*image.File { return filesOf(n.Container) }

func filesOf(c image.Container) []*image.File {
	if b, ok := c.(image.Backer); ok {
		return b.Files()
	}
	return nil
}

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

// nothing is the Container of a file without sections and symbols.
type nothing struct{}

func (nothing) Section(string) (image.Section, bool)          { return image.Section{}, false }
func (nothing) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (nothing) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (nothing) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (nothing) Close() error                                  { return nil }
