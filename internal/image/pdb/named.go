package pdb

import (
	"bytes"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// Named is a format whose images have the names of their program databases besides their own. A database is looked for when a name
// is first asked for.
func Named(format image.Format) image.Format {
	open := format.Open
	format.Open = func(f *image.File, opt image.Options) (*image.Image, error) {
		img, err := open(f, opt)
		if err != nil || opt.NoDebugFiles {
			return img, err
		}
		c, ok := image.ContainerAs[codeViewer](img.Container())
		if !ok || len(img.BuildID) == 0 {
			return img, nil
		}
		base, _ := img.Segments.Bounds()
		return image.New(img.Header, &companion{Container: img.Container(), img: img, path: f.Path, name: baseName(c.CodeView()), base: base, opt: opt}), nil
	}
	return format
}

// codeViewer is a Container that knows the path of its program database where it was linked.
type codeViewer interface{ CodeView() string }

// baseName is the last part of a path of Windows or Unix. Nothing else of the path is used, so that no file leads elsewhere.
func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\:`)+1:]
}

// companion is a binary's container with the names of its program database.
type companion struct {
	image.Container
	img  *image.Image
	path string
	name string
	base uint64
	opt  image.Options
	once sync.Once
	pdb  atomic.Pointer[file] // nil: not found, or not asked for
}

// database finds the program database once, nil where there is none.
func (c *companion) database() *file {
	c.once.Do(func() {
		for path := range c.candidates() {
			if f := c.try(path); f != nil {
				c.pdb.Store(f)
				return
			}
		}
	})
	return c.pdb.Load()
}

// candidates are the files that may be the database: beside the binary, under the name that the linker gave or the binary's own; in
// the directories of debug files, plain or as a symbol server has them; and where the caller knows more.
func (c *companion) candidates() iter.Seq[string] {
	return func(yield func(string) bool) {
		names, id := c.names(), image.SymbolServerID(c.img.BuildID)
		for _, name := range names {
			if c.path != "" && !yield(filepath.Join(filepath.Dir(c.path), name)) {
				return
			}
			for _, dir := range c.opt.DebugDirs {
				if !yield(filepath.Join(dir, name)) || !yield(filepath.Join(dir, name, id, name)) {
					return
				}
			}
		}
		if c.opt.SymbolFiles == nil || len(names) == 0 {
			return
		}
		for path := range c.opt.SymbolFiles(names[0], id) {
			if !yield(path) {
				return
			}
		}
	}
}

// names are those that the database may have: the linker's, if the binary records one, and the binary's own.
func (c *companion) names() []string {
	names := []string{c.name}
	if c.path != "" {
		names = append(names, strings.TrimSuffix(filepath.Base(c.path), filepath.Ext(c.path))+".pdb")
	}
	return slices.Compact(slices.DeleteFunc(names, func(name string) bool { return name == "" || name == "." || name == ".." }))
}

// try opens a candidate; what is missing, damaged or of another build is no database.
func (c *companion) try(path string) *file {
	path, ok := c.opt.Locate(path)
	if !ok {
		return nil
	}
	in, err := c.opt.OpenFile(path, sniff)
	if err != nil {
		return nil
	}
	f, err := newFile(in)
	if err != nil || !bytes.Equal(f.id, c.img.BuildID) {
		_ = in.Close()
		return nil
	}
	f.arch, f.base = c.img.Arch, c.base
	return f
}

// Unwrap implements image.Wrapper.
func (c *companion) Unwrap() image.Container { return c.Container }

// SymbolAt implements image.Container.
func (c *companion) SymbolAt(addr uint64) (image.Symbol, bool) {
	if f := c.database(); f != nil {
		if s, ok := f.SymbolAt(addr); ok {
			return s, true
		}
	}
	return c.Container.SymbolAt(addr)
}

// SymbolNamed implements image.Container.
func (c *companion) SymbolNamed(name string) (image.Symbol, bool) {
	if s, ok := c.Container.SymbolNamed(name); ok {
		return s, true
	}
	if f := c.database(); f != nil {
		return f.SymbolNamed(name)
	}
	return image.Symbol{}, false
}

// Functions implements image.Container.
func (c *companion) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	if f := c.database(); f != nil {
		image.EachFunction(yield, f.Functions, c.Container.Functions)
	} else {
		c.Container.Functions(yield)
	}
}

// LineAt is the place of an address in the source.
func (c *companion) LineAt(addr uint64) (image.SourceLine, bool) {
	if f := c.database(); f != nil {
		return f.LineAt(addr)
	}
	return image.SourceLine{}, false
}

// Files implements image.Backer.
func (c *companion) Files() []*image.File {
	var list []*image.File
	if b, ok := image.ContainerAs[image.Backer](c.Container); ok {
		list = b.Files()
	}
	if f := c.pdb.Load(); f != nil {
		list = append(list, f.in)
	}
	return list
}

// Close implements image.Container.
func (c *companion) Close() error {
	c.once.Do(func() {}) // no database is looked for from now on
	if f := c.pdb.Load(); f != nil {
		_ = f.in.Close() // a mapping, which can always be undone
	}
	return c.Container.Close()
}
