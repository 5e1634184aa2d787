package elf

import (
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Section looks in the file, then, for what is not loaded, in the separate debug file.
func (c *container) Section(name string) (image.Section, bool) {
	if s, ok := c.Loaded(name); ok {
		return s, true
	}
	if d := c.debugFile(); d != nil {
		return d.debugSection(name)
	}
	return image.Section{}, false
}

// Loaded implements image.Image's. Where the file has no sections, the program headers tell of some.
func (c *container) Loaded(name string) (image.Section, bool) {
	if s, ok := c.main.section(name); ok {
		return s, true
	}
	return impliedSection(c, name)
}

// section reads a section, by its name or as .zdebug_* for .debug_*. A section
// without bytes in the file counts when it is loaded (.bss); a .debug_* one
// without bytes was moved elsewhere.
func (f *file) section(name string) (image.Section, bool) {
	s, ok := f.sections.find(name)
	if !ok {
		return f.oldCompressed(name)
	}
	data, ok := contentOf(f, s)
	if !ok {
		return image.Section{}, false
	}
	return image.Section{Name: name, Addr: s.addr, Data: data}, true
}

// contentOf is what a section holds, decompressed; false where its bytes are elsewhere.
func contentOf(f *file, s shdr) ([]byte, bool) {
	if s.typ == shtNobits && s.flags&shfAlloc == 0 {
		return nil, false
	}
	data := f.sections.bytes(s)
	if s.flags&shfCompressed != 0 {
		return f.decompress(data)
	}
	return data, true
}

// joined is the contents of all sections with a name, one behind the other. In an object file each
// type unit has a section of its own, so that the linker can drop all but one of equal units.
func joined(f *file, name string) (all []byte) {
	for i := range f.sections.n {
		s := f.sections.at(i)
		if s.typ == 0 || !nameIs(f.sections.names, s.name, name) {
			continue
		}
		data, ok := contentOf(f, s)
		switch {
		case !ok || len(data) == 0:
		case all == nil:
			all = data[:len(data):len(data)]
		case f.expansion.draw(uint64(len(data))): // sections may share bytes
			all = append(all, data...)
		}
	}
	return all
}

// debugSection is section for a separate debug file, whose loaded sections are
// hollow.
func (f *file) debugSection(name string) (image.Section, bool) {
	if s, ok := f.sections.find(name); ok && (s.typ == shtNobits || s.flags&shfAlloc != 0) {
		return image.Section{}, false
	}
	return f.section(name)
}

// oldCompressed finds .zdebug_x for .debug_x: "ZLIB", the size in 8 bytes
// big-endian, a zlib stream (gold --compress-debug-sections=zlib-gnu).
func (f *file) oldCompressed(name string) (image.Section, bool) {
	rest, ok := strings.CutPrefix(name, ".debug_")
	if !ok {
		return image.Section{}, false
	}
	s, ok := f.sections.find(".zdebug_" + rest)
	if !ok {
		return image.Section{}, false
	}
	r := bin.New(f.sections.bytes(s), true)
	magic, size := string(r.Bytes(4)), r.U64()
	if r.Err() != nil || magic != "ZLIB" {
		return image.Section{}, false
	}
	if !f.expansion.draw(size) {
		return image.Section{}, false
	}
	data, ok := f.unzlib(r.Bytes(uint64(r.Len())), size)
	return image.Section{Name: name, Data: data}, ok
}

// impliedSection finds what program headers point to, for files without section
// headers (sstrip) or with headers that were erased.
func impliedSection(c *container, name string) (image.Section, bool) {
	var r image.Range
	switch name {
	case ".eh_frame_hdr":
		r = c.img.Table(image.EHFrameHdr).Range
	case ".eh_frame":
		r = ehFrameOf(c)
	case ".sframe":
		r = c.img.Table(image.SFrame).Range
	case ".ARM.exidx":
		r = c.img.Table(image.ExIdx).Range
	case ".dynamic":
		r = c.link.Dynamic
	}
	data := c.img.Segments.Bytes(r.Addr)
	if r.Size == 0 || len(data) == 0 {
		return image.Section{}, false
	}
	return image.Section{Name: name, Addr: r.Addr, Data: data[:bin.Limit(r.Size, len(data))], NoEnd: name == ".eh_frame"}, true
}

// ehFrameOf finds .eh_frame by its index (LSB Core, ".eh_frame_hdr"): a version,
// three encodings, and the encoded address of .eh_frame. Its end is not stated:
// it reaches to the end of the segment, or to the index where that comes behind.
func ehFrameOf(c *container) image.Range {
	hdr := c.img.Table(image.EHFrameHdr)
	r := bin.New(c.img.Segments.Bytes(hdr.Addr), c.main.big)
	version, enc := r.U8(), r.U8()
	r.Skip(2)
	addr, ok := ehPointer(&r, enc, hdr.Addr, c.main.layout.addr)
	if hdr.Size < 8 || !ok || version != 1 {
		return image.Range{}
	}
	if !c.main.wide {
		addr &= 0xffff_ffff
	}
	size := uint64(len(c.img.Segments.Bytes(addr)))
	if addr < hdr.Addr && hdr.Addr-addr < size {
		size = hdr.Addr - addr
	}
	return image.Range{Addr: addr, Size: size}
}

// ehPointer decodes a pointer at base+4 (DW_EH_PE_*: the low four bits are the
// format, the next three what it is relative to; LSB Core, "DWARF Exception
// Header Encoding").
func ehPointer(r *bin.Reader, enc uint8, base, addrSize uint64) (uint64, bool) {
	var v uint64
	switch enc & 0x0f {
	case 0x00: // absptr
		v = r.Uint(int(addrSize))
	case 0x02: // udata2
		v = r.Uint(2)
	case 0x03: // udata4
		v = r.Uint(4)
	case 0x0a: // sdata2
		v = uint64(r.Int(2))
	case 0x0b: // sdata4
		v = uint64(r.Int(4))
	case 0x04, 0x0c: // udata8, sdata8
		v = r.Uint(8)
	default:
		return 0, false
	}
	switch enc & 0xf0 {
	case 0x00: // absolute
	case 0x10: // pcrel
		v += base + 4
	case 0x30: // datarel: from the start of the index
		v += base
	default:
		return 0, false
	}
	return v, r.Err() == nil
}
