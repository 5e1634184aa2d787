package elf

import "github.com/backsight/backsight/image"

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
