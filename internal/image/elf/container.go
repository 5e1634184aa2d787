package elf

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/memo"
)

// container is the lazy part of an Image.
type container struct {
	img     *image.Image
	in      *image.File // what main was read from
	main    *file
	link    LinkInfo
	opt     image.Options
	buildID []byte

	debugOnce sync.Once
	debug     *file // separate debug file, nil when there is none
	debugIn   atomic.Pointer[image.File]

	dynsym memo.Once[*symtab]
	symbols

	streams streams

	companions companions

	importsOnce sync.Once
	imported    imports
}

// Close releases the mappings.
func (c *container) Close() error {
	err := c.in.Close()
	if f := c.debugIn.Load(); f != nil {
		err = errors.Join(err, f.Close())
	}
	for _, f := range c.companions.files() {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Files implements image.Backer.
func (c *container) Files() []*image.File {
	files := []*image.File{c.in}
	if f := c.debugIn.Load(); f != nil {
		files = append(files, f)
	}
	return append(files, c.companions.files()...)
}

// debugFile finds the separate debug file once.
func (c *container) debugFile() *file {
	c.debugOnce.Do(func() {
		if !c.opt.NoDebugFiles {
			search := debugSearch{main: c.main, path: c.in.Path, buildID: c.buildID, opt: &c.opt}
			found := search.find()
			c.debug = found.file
			if found.in != nil {
				c.debugIn.Store(found.in)
			}
		}
	})
	return c.debug
}

// Hollow implements image.Image's: some code is stated, and has no bytes.
func (c *container) Hollow() bool {
	for i := range c.main.sections.n {
		if s := c.main.sections.at(i); s.typ == shtNobits && s.flags&shfExecinstr != 0 && s.size > 0 {
			return true
		}
	}
	return false
}
