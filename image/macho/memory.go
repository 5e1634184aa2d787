package macho

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// FromMemory is the image whose mach header lies at an address of a captured program, made of
// what the program has mapped: read returns bytes from an address on, as many as there are in
// one piece, size at most. slide is what was added to the addresses in the file. Data that can
// be written to is left out: it no longer is what the file had. The Image closes the files that
// the bytes are of. The error is an *image.Error.
func FromMemory(name string, header uint64, read func(addr, size uint64) []byte, opt image.Options, files ...*image.File) (img *image.Image, slide uint64, err error) {
	const most = 1 << 20 // of load commands; the largest have some 10 kB
	f, err := newFile(name, read(header, most), 0)
	if err != nil {
		return nil, 0, err
	}
	if why := f.refusal(); why != "" {
		return nil, 0, f.errorf(12, "%s", why)
	}
	slide = header - f.textAddr()
	f.place = func(addr, size uint64) []byte { return read(addr+slide, size) }
	img, err = newImage(f, &image.File{Name: name}, opt)
	if err == nil {
		img.Container().(*container).backing = files
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
	c, ok := img.Container().(*container)
	if !ok {
		return Identity{}
	}
	f := c.main
	return Identity{Name: f.identity, Dyld: f.typ == mhDylink, Program: f.typ == mhExecute, Header: f.textAddr()}
}
