package macho

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// container is the lazy part of an Image.
type container struct {
	img *image.Image
	in  *image.File // what main was read from
	// backing are the files that main was read from where these are several.
	backing []*image.File
	main    *file
	opt     image.Options

	startsOnce sync.Once
	starts     []uint64

	scans     atomic.Int64 // lookups that did without the index
	indexOnce sync.Once
	byAddr    index

	trieOnce sync.Once
	trie     []export

	bindsOnce sync.Once
	binds     map[uint64]string

	dsym dsym
}

// Close releases the mappings.
func (c *container) Close() error {
	err := errors.Join(c.in.Close(), c.dsym.close())
	for _, f := range c.backing {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Files implements image.Backer.
func (c *container) Files() []*image.File {
	files := append([]*image.File{c.in}, c.backing...)
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

func (f *file) readSection(own, name string) (image.Section, bool) {
	s, ok := f.sectionNamed(own)
	if !ok || s.zeroFilled() || s.segment == "__DWARF" && s.off == 0 {
		return image.Section{}, false
	}
	return image.Section{Name: name, Addr: s.addr, Data: f.bytesOfSection(s)}, true
}

// sectionNamed finds a section that has bytes; __TEXT's, where several segments have one of
// that name.
func (f *file) sectionNamed(name string) (best *section, ok bool) {
	for i := range f.sections {
		if s := &f.sections[i]; s.name == name && s.size != 0 && (best == nil || s.segment == "__TEXT" && best.segment != "__TEXT") {
			best = s
		}
	}
	return best, best != nil
}

// bytesOfSection are the bytes of a section: those that its segment has at its address, for in
// a shared cache the offset of a section may be that of another file.
func (f *file) bytesOfSection(s *section) []byte {
	for i := range f.segments {
		g := &f.segments[i]
		if s.addr-g.addr < g.size && g.name == s.segment {
			data := f.bytesOf(g)
			data = data[bin.Limit(s.addr-g.addr, len(data)):]
			return data[:bin.Limit(s.size, len(data))]
		}
	}
	return f.slice(extent{s.off, s.size})
}

// Functions implements image.Container: the symbols, and what other files may use.
func (c *container) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	for _, t := range c.tables() {
		for i := range t.len() {
			s := t.at(i)
			if !t.function(&s) {
				continue
			}
			if addr, mode := c.code(&s); !yield(addr, mode, 0) {
				return
			}
		}
	}
	for _, e := range c.exported() {
		if addr, mode := c.img.Arch.SplitCode(e.addr); c.img.Executable(addr) && !yield(addr, mode, 0) {
			return
		}
	}
}

// code splits a symbol's value into address and ISA mode, which ARM files keep in n_desc.
func (c *container) code(s *nlist) (addr uint64, mode cpu.Mode) {
	addr, mode = c.img.Arch.SplitCode(s.value)
	if c.img.Arch.ISABit && s.desc&nARMThumbDef != 0 {
		mode = 1
	}
	return addr, mode
}

// tables are the symbol tables: the file's own, else that of the dSYM.
func (c *container) tables() []symbols {
	own := c.main.symbols()
	if d := c.dsym.file(); d != nil || own.len() == 0 || c.main.noDefined {
		if d := c.dsymFile(); d != nil {
			return []symbols{own, d.symbols()}
		}
	}
	return []symbols{own}
}

// SymbolNamed implements image.Container.
func (c *container) SymbolNamed(name string) (image.Symbol, bool) {
	for _, t := range c.tables() {
		for i := range t.len() {
			if s := t.at(i); s.defined() && t.is(&s, name) {
				addr, mode := c.code(&s)
				return image.Symbol{Name: name, Addr: addr, Mode: mode}, true
			}
		}
	}
	for _, e := range c.exported() {
		if e.name == name {
			addr, mode := c.img.Arch.SplitCode(e.addr)
			return image.Symbol{Name: name, Addr: addr, Mode: mode}, true
		}
	}
	return image.Symbol{}, false
}
