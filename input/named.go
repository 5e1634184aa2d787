package input

import (
	"path/filepath"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// withSymbolFile is a binary with the names and lines of Breakpad's symbol file of the same build, where its own end: stripped
// binaries name what they export. The file is looked for when the first such name is asked for.
type withSymbolFile struct {
	image.Container
	files *Files
	name  string
	ids   []string
	arch  *cpu.Arch
	base  uint64 // the file's addresses count from the lowest of the binary

	once    sync.Once
	symbols *image.Image // nil: there is none
}

// withSymbols is img with the names of a symbol file that the user may have, img itself where the user named no place for any.
// Binaries of Windows have program databases.
func (f *Files) withSymbols(img *image.Image) *image.Image {
	f.lists.mu.Lock()
	places := len(f.lists.paths)
	f.lists.mu.Unlock()
	if places == 0 && f.places.opt.FetchSymbols == nil || img.BuildID == nil || img.System == "windows" || img.Hollow() {
		return img
	}
	const page = 4096
	lo, _ := img.Segments.Bounds()
	c := &withSymbolFile{Container: img.Container(), files: f, name: filepath.Base(img.Path), ids: image.SymbolServerIDs(img.BuildID, 0), arch: img.Arch, base: lo &^ (page - 1)}
	return image.New(img.Header, c)
}

// file is the symbol file, nil where there is none.
func (c *withSymbolFile) file() *image.Image {
	c.once.Do(func() {
		if f := c.files.SymbolFile(BinaryRef{Name: c.name, Arch: c.arch}, c.ids); f != nil && f.Files.Hold() == nil {
			c.symbols = f
		}
	})
	return c.symbols
}

// Close implements image.Container.
func (c *withSymbolFile) Close() error {
	c.once.Do(func() {}) // nothing is looked for from now on
	if c.symbols != nil {
		_ = c.symbols.Files.Release() // a mapping, which can always be undone
	}
	return c.Container.Close()
}

// SymbolAt implements image.Container: the binary's own name where it says how far that reaches.
func (c *withSymbolFile) SymbolAt(addr uint64) (image.Symbol, bool) {
	own, ok := c.Container.SymbolAt(addr)
	if ok && own.Size != 0 {
		return own, true
	}
	if f := c.file(); f != nil && addr >= c.base {
		if s, has := f.Symbols.At(addr - c.base); has && s.Size != 0 {
			s.Addr += c.base
			return s, true
		}
	}
	return own, ok
}

// Functions implements image.Container.
func (c *withSymbolFile) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	image.EachFunction(yield, c.Container.Functions, func(yield image.FunctionYield) {
		if f := c.file(); f != nil {
			f.Symbols.Functions(func(addr uint64, mode cpu.Mode, size uint64) bool {
				return size == 0 || yield(addr+c.base, mode, size)
			})
		}
	})
}

// LineAt is the place of an address in the source.
func (c *withSymbolFile) LineAt(addr uint64) (image.SourceLine, bool) {
	if f := c.file(); f != nil && addr >= c.base {
		return f.Debug.LineAt(addr - c.base)
	}
	return image.SourceLine{}, false
}

// Unwrap implements image.Wrapper.
func (c *withSymbolFile) Unwrap() image.Container { return c.Container }
