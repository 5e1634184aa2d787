// Package dyldcache opens one library out of a dyld shared cache: the file, or files, in which
// macOS and iOS keep the libraries of the system instead of files of their own.
//
//	header ─► mappings: addresses to offsets of this file, and of its subcaches beside it
//	      └─► images: path, address of the mach header ─► internal/image/macho reads it in place
//
// Nothing is copied. The library is chosen by its path (image.Options.Name), else by its UUID;
// without a wish it is the first. Specification: dyld's dyld_cache_format.h.
package dyldcache

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/image/macho"
)

const magic = "dyld_v1 "

// Offsets of the header's fields; a field is there if the mappings begin behind it.
const (
	mappingsAt   = 0x10
	oldImagesAt  = 0x18
	localsAt     = 0x48
	subcachesAt  = 0x188
	symbolFileAt = 0x190
	imagesAt     = 0x1c0
	subtypeAt    = 0x1c8
)

// Bounds of what a header may list: a cache has some three thousand images, ten mappings a file
// and some sixty files.
const (
	maxMappings  = 64
	maxImages    = 1 << 15
	maxSubcaches = 256
)

// Format describes this package to image.Open.
func Format() image.Format {
	return image.Format{Name: "dyldcache", Sniff: sniff, Open: open}
}

func sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// cache is a cache with its subcaches.
type cache struct {
	files    []*image.File
	symbols  *image.File // that has the symbols which no other library may use
	mappings []mapping
	images   []entry
}

// mapping is a range of addresses that a file has at an offset.
type mapping struct {
	addr, size, off uint64
	data            []byte // of the file
}

// entry is an image: where its mach header is, and the offset of its path.
type entry struct {
	addr uint64
	path uint32
}

func open(in *image.File, opt image.Options) (*image.Image, error) {
	c := &cache{files: []*image.File{in}, symbols: in}
	if err := c.read(in); err != nil {
		return nil, err
	}
	c.openSubcaches(in)
	c.openSymbols(in)
	img, err := c.choose(in, opt)
	if err != nil {
		for _, f := range c.files[1:] {
			err = errors.Join(err, f.Close())
		}
		return nil, err
	}
	img.Slices = len(c.images)
	return img, nil
}

// read reads the header of the cache.
func (c *cache) read(in *image.File) error {
	c.addMappings(in.Data)
	r := bin.NewAt(in.Data, oldImagesAt, false)
	at, n := r.U32(), r.U32()
	if n == 0 && c.has(in.Data, imagesAt+8) {
		r = bin.NewAt(in.Data, imagesAt, false)
		at, n = r.U32(), r.U32()
	}
	r = bin.NewAt(in.Data, uint64(at), false)
	for range min(n, maxImages) {
		e := entry{addr: r.U64()}
		r.Skip(16) // times
		e.path = r.U32()
		r.Skip(4)
		if r.Err() != nil {
			break
		}
		c.images = append(c.images, e)
	}
	if len(c.images) == 0 || len(c.mappings) == 0 {
		return in.Errorf(oldImagesAt, "a dyld shared cache without images")
	}
	return nil
}

// has tells whether the header reaches to an offset: the mappings come right behind it.
func (c *cache) has(data []byte, end uint32) bool {
	r := bin.NewAt(data, mappingsAt, false)
	return r.U32() >= end
}

func (c *cache) addMappings(data []byte) {
	r := bin.NewAt(data, mappingsAt, false)
	at, n := r.U32(), r.U32()
	r = bin.NewAt(data, uint64(at), false)
	for range min(n, maxMappings) {
		m := mapping{addr: r.U64(), size: r.U64(), off: r.U64(), data: data}
		r.Skip(8) // protections
		if r.Err() != nil {
			return
		}
		c.mappings = append(c.mappings, m)
	}
}

// openSubcaches opens the files beside the cache: FILE.1, FILE.2, … or with the suffixes that
// newer headers state. What is missing leaves its addresses without bytes.
func (c *cache) openSubcaches(in *image.File) {
	if in.Path == "" || !c.has(in.Data, subcachesAt+8) {
		return
	}
	r := bin.NewAt(in.Data, subcachesAt, false)
	at, n := r.U32(), r.U32()
	r = bin.NewAt(in.Data, uint64(at), false)
	for i := range min(n, maxSubcaches) {
		r.Skip(16 + 8) // UUID, offset of its addresses
		suffix := fmt.Sprintf(".%d", i+1)
		if c.has(in.Data, subtypeAt+1) {
			b, _, _ := bytes.Cut(r.Bytes(32), []byte{0})
			suffix = string(b)
		}
		if r.Err() != nil || bytes.ContainsAny([]byte(suffix), "/\\") {
			return
		}
		if f, err := in.OpenBeside(in.Path+suffix, sniff); err == nil {
			c.files = append(c.files, f)
			c.addMappings(f.Data)
		}
	}
}

// bytes are the bytes of an address, size at most.
func (c *cache) bytes(addr, size uint64) []byte {
	for i := range c.mappings {
		m := &c.mappings[i]
		if addr-m.addr >= m.size {
			continue
		}
		off := m.off + (addr - m.addr)
		if off >= uint64(len(m.data)) {
			return nil
		}
		b := m.data[off:]
		return b[:bin.Limit(min(size, m.size-(addr-m.addr)), len(b))]
	}
	return nil
}

// maxPath bounds the path of an image.
const maxPath = 1024

func (c *cache) path(e *entry) string {
	b := c.files[0].Data
	b = b[bin.Limit(uint64(e.path), len(b)):]
	b = b[:min(len(b), maxPath)]
	return string(b[:max(bytes.IndexByte(b, 0), 0)])
}

// choose opens the image that opt asks for.
func (c *cache) choose(in *image.File, opt image.Options) (*image.Image, error) {
	if opt.Name == "" && len(opt.BuildID) == 0 {
		return c.image(&c.images[0], opt)
	}
	for i := range c.images {
		if e := &c.images[i]; opt.Name != "" && c.path(e) == opt.Name {
			return c.image(e, opt)
		}
	}
	for i := range c.images {
		e := &c.images[i]
		if len(opt.BuildID) > 0 && bytes.Equal(macho.UUIDAt(c.bytes(e.addr, maxCommands)), opt.BuildID) {
			return c.image(e, opt)
		}
	}
	return nil, in.Errorf(uint64(oldImagesAt), "the dyld shared cache has no image %s %x", opt.Name, opt.BuildID)
}

// maxCommands bounds the load commands that are looked through for a UUID.
const maxCommands = 1 << 16

func (c *cache) image(e *entry, opt image.Options) (*image.Image, error) {
	img, _, err := macho.FromMemory(macho.Mapped{Name: c.path(e), Header: e.addr, Read: c.bytes, Locals: c.locals(e.addr), Files: c.files}, opt)
	return img, err
}
