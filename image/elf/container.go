package elf

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/image"
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

	tablesOnce sync.Once
	symtabs    []symtab

	lookups

	streams streams

	companions companions

	importsOnce sync.Once
	imported    imports
}

// lookups are the indexes of symbols, made when some questions were answered without.
type lookups struct {
	scans     atomic.Int64 // addresses that were looked up without the index
	indexOnce sync.Once
	byAddr    symbolIndex
	named     atomic.Int64 // names, likewise
	namesOnce sync.Once
	byName    nameIndex
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
			c.debug = c.findDebugFile()
		}
	})
	return c.debug
}
