package kallsyms

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// Named is an image with the names of a table, which has image addresses, instead of its
// own. img is not used otherwise from then on.
func Named(img *image.Image, table *Table) *image.Image {
	return image.New(img.Header, &named{img.Container(), img.Arch, table})
}

// named is a Container with names from elsewhere.
type named struct {
	rest  image.Container // nil: the image has nothing but names
	arch  *cpu.Arch
	table *Table
}

func (n *named) symbol(s Symbol) image.Symbol {
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

// Section implements image.Container.
func (n *named) Section(name string) (image.Section, bool) {
	if n.rest == nil {
		return image.Section{}, false
	}
	return n.rest.Section(name)
}

// Unwrap implements image.Wrapper.
func (n *named) Unwrap() image.Container { return n.rest }

// Close implements image.Container.
func (n *named) Close() error {
	if n.rest == nil {
		return nil
	}
	return n.rest.Close()
}

// Fits tells whether a table can be that of an image: more than half of the functions lie in
// the image's code.
func (t *Table) Fits(img *image.Image) bool {
	inside, all := 0, 0
	t.Functions(func(addr, _ uint64) bool {
		all++
		if a, _ := img.Arch.SplitCode(addr); img.Segments.Executable(a) {
			inside++
		}
		return true
	})
	return inside*2 > all
}
