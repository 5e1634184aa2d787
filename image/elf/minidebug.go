package elf

import (
	"bytes"

	"github.com/ulikunitz/xz"

	"github.com/backsight/backsight/image"
)

// miniDebugInfo opens the ELF file inside .gnu_debugdata (GDB manual,
// "MiniDebugInfo"): xz-compressed, with the symbols that strip took away.
func (c *container) miniDebugInfo() *file {
	s, ok := c.main.section(".gnu_debugdata")
	if !ok {
		return nil
	}
	data, ok := unxz(s.Data)
	if !ok {
		return nil
	}
	f, err := newFile(&image.File{Name: c.main.path + ":.gnu_debugdata", Data: data})
	if err != nil || !f.sameTarget(&c.main.encoding) {
		return nil
	}
	return f
}

// unxz decompresses an xz stream after measuring it. The decoder allocates the dictionary that
// each block header asks for, up to 4 GB; xzSize refuses such headers before the decoder sees them.
// The decoder is foreign code over hostile input: a panic there means a damaged stream.
func unxz(stream []byte) (data []byte, ok bool) {
	defer func() {
		if recover() != nil {
			data, ok = nil, false
		}
	}()
	size, ok := xzSize(stream)
	if !ok {
		return nil, false
	}
	z, err := xz.ReaderConfig{DictCap: 1 << 12, SingleStream: true}.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, false
	}
	return expand(z, len(stream), size)
}
