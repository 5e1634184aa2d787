package target

import (
	"path"
	"strings"

	"github.com/backsight/backsight/image"
)

// Module is an executable file mapped into the program.
type Module struct {
	// Name is the path as the captured system knew it.
	Name string
	Range
	// Bias is target address minus image address.
	Bias uint64
	// Image is nil where the file was not found; then only Name and Range hold.
	Image   *image.Image
	BuildID []byte
	// CodeID is what symbol servers call a binary of Windows by: when it was linked, and its size; "" where the capture does not say.
	CodeID string
	Stated Stated
	// Named: the name alone says that Image is of the build that ran.
	Named bool
}

// Stated says what a capture states of where a module lies.
type Stated uint8

const (
	// StatedPlace: its place, as memory does.
	StatedPlace Stated = iota
	// StatedOffsets: offsets in it only, as a list of frames may. Where the module lies is made up.
	StatedOffsets
	// StatedAddresses: addresses in it only. Offsets in it mean nothing.
	StatedAddresses
)

// Anonymous tells whether the module is memory of no file, code that the program made: no path of Linux' begins like its name.
func (m *Module) Anonymous() bool { return strings.HasPrefix(m.Name, "//") }

// NewModule returns the module of an image that is mapped at a load bias, target address
// minus image address: from its lowest address to its end, or to the last address of the
// processor where it would reach beyond that.
func NewModule(name string, img *image.Image, bias uint64) *Module {
	m := &Module{Name: name, Bias: bias, Image: img, BuildID: img.BuildID}
	lo, hi := img.Segments.Bounds()
	m.Range = Range{m.ToTarget(lo), m.ToTarget(hi)}
	if m.Hi < m.Lo {
		m.Hi = img.Arch.AddrMask()
	}
	return m
}

// Hollow tells whether the module's file is known and has none of its code (image.Image.Hollow). A nil module is not.
func (m *Module) Hollow() bool { return m != nil && m.Image != nil && m.Image.Hollow() }

// ToImage converts a target address to an image address.
func (m *Module) ToImage(addr uint64) uint64 { return addr - m.Bias }

// ToTarget converts an image address to a target address, within the ABI's width.
func (m *Module) ToTarget(addr uint64) uint64 {
	a := addr + m.Bias
	if m.Image != nil {
		a &= m.Image.Arch.AddrMask()
	}
	return a
}

// Base is the last part of the module's name.
func (m *Module) Base() string { return BaseName(m.Name) }

// BaseName is the last part of a path of any system: of Unix, or of Windows where the path has a drive or begins with a
// backslash.
func BaseName(name string) string {
	if len(name) > 2 && (name[1] == ':' || name[0] == '\\') {
		name = name[strings.LastIndexByte(name, '\\')+1:]
	}
	return path.Base(name)
}
