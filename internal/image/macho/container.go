package macho

import (
	"errors"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// container is the lazy part of an Image.
type container struct {
	img *image.Image
	in  *image.File // what main was read from
	// backing are the files that main was read from where these are several.
	backing []*image.File
	main    *file
	locals  Locals
	opt     image.Options

	starts   starts
	names    names
	exported exported
	binds    binds
	dsym     dsym
	debugMap debugMap
}

// Close releases the mappings.
func (c *container) Close() error {
	err := errors.Join(c.in.Close(), c.dsym.close(), c.debugMap.close())
	for _, f := range c.backing {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Files implements image.Backer.
func (c *container) Files() []*image.File {
	files := append(append([]*image.File{c.in}, c.backing...), c.debugMap.files()...)
	if f := c.dsym.file(); f != nil {
		files = append(files, f)
	}
	return files
}

// Section finds a section by its own name or by ELF's, in the file or, for DWARF, in the dSYM.
func (c *container) Section(name string) (image.Section, bool) {
	own := machoName(name)
	if s, ok := c.main.readSection(own, name); ok {
		return s, true
	}
	if !strings.HasPrefix(own, "__debug_") {
		return image.Section{}, false
	}
	if d := c.dsymFile(); d != nil {
		return d.readSection(own, name)
	}
	return image.Section{}, false
}

// machoName is ELF's name of a section as Mach-O has it: 16 bytes at most.
func machoName(name string) string {
	if rest, ok := strings.CutPrefix(name, "."); ok {
		name = "__" + rest
	}
	return name[:min(len(name), 16)]
}

// tables are the symbol tables: the file's own, those kept apart, then that of the dSYM.
func (c *container) tables() tables {
	t := tables{img: c.img, nlist: []symbols{c.main.symbols()}, exports: c.exported.of(c.main)}
	if l := c.locals; len(l.Nlist) > 0 {
		t.nlist = append(t.nlist, symbols{&c.main.header, &c.main.layout, l.Nlist, l.Strings})
	}
	if d := c.dsymFile(); d != nil {
		t.nlist = append(t.nlist, d.symbols())
	}
	return t
}

// SymbolAt implements image.Container. Symbols have no sizes: one reaches to the next, to where
// the linker says that another function starts, and to the end of its section.
func (c *container) SymbolAt(addr uint64) (image.Symbol, bool) {
	if !c.img.Segments.Executable(addr) {
		return image.Symbol{}, false
	}
	t := c.tables()
	e, ok := c.names.at(&t, addr)
	if start, _, _, listed := c.FunctionAt(addr); !ok || listed && start > e.addr {
		return image.Symbol{}, false
	}
	if in, ok := c.main.sectionAt(addr); ok && e.addr < in.addr {
		return image.Symbol{}, false
	}
	s := t.symbol(&e)
	return s, s.Name != ""
}

// Functions implements image.Container: the symbols, and what other files may use.
func (c *container) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	t := c.tables()
	t.functions(func(e entry, mode cpu.Mode) bool { return yield(e.addr, mode, 0) })
}

// SymbolNamed implements image.Container.
func (c *container) SymbolNamed(name string) (image.Symbol, bool) {
	t := c.tables()
	for i := range t.nlist {
		if s, ok := t.nlist[i].named(name); ok {
			addr, mode := t.code(&s)
			return image.Symbol{Name: name, Addr: addr, Mode: mode}, true
		}
	}
	trie := c.main.exports()
	value, ok := trie.named(name)
	if !ok {
		return image.Symbol{}, false
	}
	addr, mode := c.img.Arch.SplitCode(value)
	return image.Symbol{Name: name, Addr: addr, Mode: mode}, true
}
