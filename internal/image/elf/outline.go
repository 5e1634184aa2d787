package elf

import "github.com/backsight/backsight/image"

// Outline is the part of an ELF file's headers that a separate debug file for that file repeats.
type Outline struct {
	Type, Machine uint16
	// OSABI is EI_OSABI of the identification.
	OSABI uint8
	Flags uint32
	Entry uint64
	// Sections are those that are loaded, in the order of the file; none where the file has
	// no section headers.
	Sections []SectionHeader
}

// SectionHeader is the header of a section that is loaded. Addr is an image address.
type SectionHeader struct {
	Name       string
	Type       uint32
	Flags      uint64
	Addr, Size uint64
	Exec       bool
}

// maxOutline bounds the sections of an Outline: programs have some forty, kernels a few hundred.
const maxOutline = 1 << 12

// OutlineOf returns the outline of an image's file; false where that is no ELF file.
func OutlineOf(img *image.Image) (Outline, bool) {
	c, ok := image.ContainerAs[*container](img.Container())
	if !ok {
		return Outline{}, false
	}
	f := c.main
	o := Outline{Type: f.typ, Machine: f.machine, OSABI: f.data[7], Flags: f.flags, Entry: f.entry}
	for i := range min(f.sections.n, maxOutline) {
		s := f.sections.at(i)
		name := nameAt(f.sections.names, s.name)
		if s.flags&shfAlloc == 0 || s.size == 0 || len(name) == 0 {
			continue
		}
		o.Sections = append(o.Sections, SectionHeader{
			Name: string(name), Type: s.typ, Flags: s.flags, Addr: s.addr, Size: s.size, Exec: s.flags&shfExecinstr != 0,
		})
	}
	return o, true
}

// CodeSections implements image.Image's: the sections with instructions.
func (c *container) CodeSections() (list []image.Range) {
	for i := range min(c.main.sections.n, maxOutline) {
		if s := c.main.sections.at(i); s.flags&(shfAlloc|shfExecinstr) == shfAlloc|shfExecinstr && s.size > 0 {
			list = append(list, image.Range{Addr: s.addr, Size: s.size})
		}
	}
	return list
}
