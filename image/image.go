// Package image is one executable file as the rest of Backsight sees it: address
// ranges with bytes, named sections, symbols, a build ID. Container formats
// (internal/image/elf, internal/image/flat, …) fill it in; nothing above knows which one it was.
//
// All addresses are image addresses: as stated in the file, before any load bias.
// An Image is immutable after opening and safe for concurrent use; what is
// expensive is read on first demand.
package image

import (
	"sync/atomic"

	"github.com/backsight/backsight/cpu"
)

// Header is what a container format states up front.
type Header struct {
	// Path is where the file was found, or what its bytes are called.
	Path string
	// Arch is the ABI that the file states.
	Arch *cpu.Arch
	// Entry is the entry point, ISA mode bit kept; 0 when there is none.
	Entry uint64
	// BuildID is the GNU build ID, nil when there is none.
	BuildID []byte
	// Segments are the loaded ranges, sorted by Addr, not overlapping.
	Segments Segments
	// Interpreted: the file asks for a program interpreter (the dynamic linker) to be started by.
	Interpreted bool
	// Relocatable: linked at 0 and loaded anywhere (ET_DYN).
	Relocatable bool
	// Tables are the unwind tables that the program is loaded with, one of a kind.
	// No stripping removes them.
	Tables []Table
	// OneMode: the file says that all of its code is of ISA mode 0.
	OneMode bool
	// System is the operating system that the file is for, where its format tells: "darwin".
	System string
	// SwappedEH: .eh_frame numbers the stack pointer and the frame pointer the other way
	// round than DWARF does for this processor (i386 of Darwin).
	SwappedEH bool
	// Made: this is one function, which a program made while it ran. Those that it calls may pop their arguments or make their caller's
	// frame, whatever the ABI says (V8's JavaScript).
	Made bool
	// Slices is how many images the file has, of which this is one; 0 where its format has
	// always one.
	Slices int
	// Issues are what was wrong with the file but did not stop it, one line each.
	Issues []string
}

// Range is Size bytes of image addresses from Addr.
type Range struct {
	Addr, Size uint64
}

// Image is an executable or shared library: what its header states, and a value for each kind
// of question that is answered out of its Container on demand.
type Image struct {
	Header
	Sections Sections
	Symbols  Symbols
	Debug    DebugInfo
	Files    Files

	container Container
	memo      memos
	hollow    atomic.Int32 // what Hollow answered: 0 nothing so far, 1 no, 2 yes
}

// New wraps a container, which may be nil. Segments are sorted; where they
// overlap, the one with the lower address keeps the range and the other is cut.
func New(h Header, c Container) *Image {
	h.Segments = disjoint(h.Segments)
	return &Image{
		Header:    h,
		Sections:  Sections{container: c},
		Symbols:   Symbols{c},
		Debug:     DebugInfo{c},
		Files:     Files{container: c},
		container: c,
	}
}

// Close releases the files, once nobody holds them any more (Files.Hold). The image must not be used after it.
func (img *Image) Close() error { return img.Files.close() }

// Container returns the Container that the Image reads from, nil where there is none. A format's
// package asks it for more of its own images than an Image tells (ContainerAs).
func (img *Image) Container() Container { return img.container }

// hollower is a Container that knows files without their code.
type hollower interface{ Hollow() bool }

// Hollow tells whether the file describes a program and has none of its code: a debug file, as
// objcopy --only-keep-debug makes them.
func (img *Image) Hollow() bool {
	if img.hollow.Load() == 0 {
		answer := int32(1)
		if h, is := ContainerAs[hollower](img.container); is && h.Hollow() {
			answer = 2
		}
		img.hollow.Store(answer)
	}
	return img.hollow.Load() == 2
}

// Memo returns the value that make built for key the first time: unwind sources keep
// what they learn of an image this way. Concurrent callers with one key wait for the first. Keys
// are compared like map keys: use an unexported type of the caller's package.
func (img *Image) Memo(key any, make func() any) any { return img.memo.get(key, make) }

// Word reads an address-sized word of the file at an image address.
func (img *Image) Word(addr uint64) (uint64, bool) {
	return img.Uint(addr, img.Arch.AddrSize)
}

// Uint reads an unsigned integer of size bytes, at most 8, at an image address.
func (img *Image) Uint(addr uint64, size int) (uint64, bool) {
	b := img.Segments.Bytes(addr)
	if len(b) < size {
		return 0, false
	}
	var v uint64
	for i := range size {
		if img.Arch.BigEndian {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return v, true
}
