package macho

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Mapped is an image that is mapped in a captured program, or lies in a shared cache.
type Mapped struct {
	Name   string
	Header uint64 // address of its mach header
	// Read returns bytes from an address on, as many as there are in one piece, size at most.
	Read func(addr, size uint64) []byte
	// Locals are symbols that are kept apart from the image, as shared caches keep those that no
	// other file may use.
	Locals Locals
	// Files are those that the bytes are of. The Image closes them.
	Files []*image.File
}

// Locals is a part of a symbol table, with all its strings.
type Locals struct{ Nlist, Strings []byte }

// FromMemory makes an Image out of captured memory. slide is the distance from image addresses to
// target addresses. Writable data is left out, for the program may have changed it. The error is
// an *image.Error.
func FromMemory(m Mapped, opt image.Options) (img *image.Image, slide uint64, err error) {
	const most = 1 << 20 // of load commands; the largest have some 10 kB
	f, err := newFile(m.Name, m.Read(m.Header, most), 0)
	if err != nil {
		return nil, 0, err
	}
	if why := f.refusal(); why != "" {
		return nil, 0, f.errorf(12, "%s", why)
	}
	slide = m.Header - f.textAddr()
	f.place = func(addr, size uint64) []byte { return m.Read(addr+slide, size) }
	img, err = newImage(f, &image.File{Name: m.Name}, opt)
	if err == nil {
		c := img.Container().(*container)
		c.backing, c.locals = m.Files, m.Locals
	}
	return img, slide, err
}

// UUIDAt is the UUID of the image whose mach header bytes begin with; nil for none.
func UUIDAt(head []byte) []byte {
	f, err := newFile("", head, 0)
	if err != nil {
		return nil
	}
	return f.uuid
}

// IsHeader tells whether bytes begin with the header of an image, not of a core or an object
// file.
func IsHeader(head []byte) bool {
	_, big, ok := ident(head)
	if !ok {
		return false
	}
	r := bin.NewAt(head, 12, big)
	switch r.U32() {
	case mhExecute, mhDylib, mhDylink, mhBundle, mhKext, mhFileset, mhPreload:
		return r.Err() == nil
	}
	return false
}

// Identity is what a file says it is: the path under which programs load it, for a library, and
// whether it is the dynamic linker itself. Header is the image address of its mach header.
type Identity struct {
	Name    string
	Dyld    bool
	Program bool
	Header  uint64
}

// IdentityOf is the identity of an image; the zero Identity for images of another format.
func IdentityOf(img *image.Image) Identity {
	c, ok := image.ContainerAs[*container](img.Container())
	if !ok {
		return Identity{}
	}
	f := c.main
	return Identity{Name: f.identity, Dyld: f.typ == mhDylink, Program: f.typ == mhExecute, Header: f.textAddr()}
}
