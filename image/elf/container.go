package elf

import (
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/image"
)

// container is the lazy part of an Image.
type container struct {
	img     *image.Image
	main    *file
	release func() error
	opt     Options
	where   string // path of main, "" when it came from memory
	buildID []byte

	debugOnce sync.Once
	debug     *file // separate debug file, nil when there is none
	closers   []func() error

	tablesOnce sync.Once
	symtabs    []symtab

	scans     atomic.Int64 // lookups that did without the index
	indexOnce sync.Once
	byAddr    symbolIndex

	streams streams

	importsOnce sync.Once
	imported    imports
}

// Close releases the mappings.
func (c *container) Close() error {
	err := c.release()
	for _, close := range c.closers {
		if e := close(); err == nil {
			err = e
		}
	}
	return err
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
