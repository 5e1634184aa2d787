// Package image is one executable file as the rest of Backsight sees it: address
// ranges with bytes, named sections, symbols, a build ID. Container formats
// (image/elf, image/flat, …) fill it in; nothing above knows which one it was.
//
// All addresses are image addresses: as stated in the file, before any load bias.
// An Image is immutable after opening and safe for concurrent use; what is
// expensive is read on first demand.
package image

import (
	"sort"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/cpu"
)

// Header is what a container format states up front.
type Header struct {
	// Path is where the file was found.
	Path string
	// Arch is the ABI that the file states.
	Arch *cpu.Arch
	// Entry is the entry point, ISA mode bit kept; 0 when there is none.
	Entry uint64
	// BuildID is the GNU build ID, nil when there is none.
	BuildID []byte
	// Segments are the loaded ranges, sorted by Addr, not overlapping.
	Segments []Segment
	// Relocatable: linked at 0 and loaded anywhere (ET_DYN).
	Relocatable bool
	// Tables are the unwind tables that the program is loaded with, one of a kind.
	// No stripping removes them.
	Tables []Table
	// OneMode: the file says that all of its code is of ISA mode 0.
	OneMode bool
	// Issues are what was wrong with the file but did not stop it, one line each.
	Issues []string
}

// Table is the range of an unwind table.
type Table struct {
	Kind TableKind
	Range
}

// TableKind says how to read an unwind table. A container and an unwind source that
// know a further kind need to agree on its name only.
type TableKind string

const (
	// EHFrameHdr is the binary search table of .eh_frame (LSB Core, "The
	// .eh_frame_hdr section").
	EHFrameHdr TableKind = ".eh_frame_hdr"
	// ExIdx is the index of ARM's unwind tables (EHABI32, "Index table entries").
	ExIdx TableKind = ".ARM.exidx"
)

// Range is Size bytes of image addresses from Addr.
type Range struct {
	Addr, Size uint64
}

// Image is an executable or shared library.
type Image struct {
	Header
	container Container
	memo      sync.Map // any → *memoEntry
	failed    atomic.Pointer[Error]
}

// Segment is a range of the address space that the file fills.
type Segment struct {
	Addr uint64
	Size uint64 // in memory; bytes past len(Data) are zero
	Data []byte // the file's bytes, not copied
	// FileOff is the offset of Data in the file: what a core's file-mapping
	// table refers to.
	FileOff uint64
	Read    bool
	Write   bool
	Exec    bool
}

// Symbol names an address.
type Symbol struct {
	Name string
	// Addr has the ISA mode bit removed; Mode keeps it.
	Addr uint64
	Mode cpu.Mode
	// Size is 0 where the file does not say; lookup then reaches to the next symbol.
	Size uint64
}

// Container reads what is lazy out of a file format. Methods are called from several
// goroutines; Section once for a name.
//
// A Container may have more methods, each for what Image's method of the same name
// tells: Import, Rebased, and SectionPart with SectionSize. An Image whose Container lacks one answers
// as that method's comment says.
type Container interface {
	// Section returns the named section, searching separate debug files for
	// names that begin with ".debug_" or when the file has none.
	Section(name string) (Section, bool)
	// SymbolAt finds the function symbol that covers addr; it builds the string
	// for the one that it returns only.
	SymbolAt(addr uint64) (Symbol, bool)
	// Functions calls yield for the address, mode and size of every function
	// symbol, in no order, until it returns false. It builds no strings.
	Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool)
	// SymbolNamed finds a defined symbol, function or object, by its exact name.
	SymbolNamed(name string) (Symbol, bool)
	// Close releases mappings; the Image must not be used after it.
	Close() error
}

// importer is a Container that knows what the dynamic linker fills in.
type importer interface {
	Import(addr uint64) (name string, ok bool)
}

// rebaser is a Container that knows which words hold addresses of the image.
type rebaser interface {
	Rebased(yield func(value uint64) bool) bool
}

// parter is a Container that decompresses sections bit by bit.
type parter interface {
	SectionPart(name string, off, n uint64) []byte
	// SectionSize is the section's size, or what it claims to decompress to, which
	// the size of its stream makes credible.
	SectionSize(name string) uint64
}

// New wraps a container, which may be nil. Segments are sorted; where they
// overlap, the one with the lower address keeps the range and the other is cut.
func New(h Header, c Container) *Image {
	h.Segments = disjoint(h.Segments)
	return &Image{Header: h, container: c}
}

func disjoint(segs []Segment) []Segment {
	sort.SliceStable(segs, func(i, j int) bool { return segs[i].Addr < segs[j].Addr })
	out := segs[:0]
	end := uint64(0)
	for _, s := range segs {
		if s.Size < uint64(len(s.Data)) {
			s.Data = s.Data[:s.Size]
		}
		if s.Addr+s.Size < s.Addr { // wraps
			s.Size = -s.Addr - 1
		}
		if len(out) > 0 && s.Addr < end {
			cut := end - s.Addr
			if cut >= s.Size {
				continue
			}
			s.Addr, s.Size, s.FileOff = end, s.Size-cut, s.FileOff+cut
			s.Data = s.Data[min(cut, uint64(len(s.Data))):]
		}
		if s.Size == 0 {
			continue
		}
		if uint64(len(s.Data)) > s.Size {
			s.Data = s.Data[:s.Size]
		}
		end = s.Addr + s.Size
		out = append(out, s)
	}
	return out
}

// Segment returns the segment that holds addr.
func (img *Image) Segment(addr uint64) (*Segment, bool) {
	segs := img.Segments
	lo, hi := 0, len(segs)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if segs[m].Addr <= addr {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo == 0 || addr-segs[lo-1].Addr >= segs[lo-1].Size {
		return nil, false
	}
	return &segs[lo-1], true
}

// LoadedBytes is how many bytes of the file the segments show.
func (img *Image) LoadedBytes() (n uint64) {
	for i := range img.Segments {
		n += uint64(len(img.Segments[i].Data))
	}
	return n
}

// Bytes returns the file's bytes from addr to the end of its segment, nil where
// there are none. They are not copied.
func (img *Image) Bytes(addr uint64) []byte {
	s, ok := img.Segment(addr)
	if !ok || addr-s.Addr >= uint64(len(s.Data)) {
		return nil
	}
	return s.Data[addr-s.Addr:]
}

// Before returns up to n bytes that end right before addr, within one segment.
func (img *Image) Before(addr uint64, n int) []byte {
	s, ok := img.Segment(addr - 1)
	if !ok || addr-s.Addr > uint64(len(s.Data)) {
		return nil
	}
	end := addr - s.Addr
	return s.Data[end-min(end, uint64(n)) : end]
}

// Code is Bytes for executable segments only.
func (img *Image) Code(addr uint64) []byte {
	s, ok := img.Segment(addr)
	if !ok || !s.Exec || addr-s.Addr >= uint64(len(s.Data)) {
		return nil
	}
	return s.Data[addr-s.Addr:]
}

// Executable tells whether addr lies in an executable segment.
func (img *Image) Executable(addr uint64) bool {
	s, ok := img.Segment(addr)
	return ok && s.Exec
}

// Word reads an address-sized word of the file at addr.
func (img *Image) Word(addr uint64) (uint64, bool) {
	return img.Uint(addr, img.Arch.AddrSize)
}

// Uint reads an unsigned integer of size bytes, at most 8, at addr.
func (img *Image) Uint(addr uint64, size int) (uint64, bool) {
	b := img.Bytes(addr)
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

// Bounds returns the lowest and the first address past the highest of all
// segments; equal when there are none.
func (img *Image) Bounds() (lo, hi uint64) {
	if len(img.Segments) == 0 {
		return 0, 0
	}
	last := img.Segments[len(img.Segments)-1]
	return img.Segments[0].Addr, last.Addr + last.Size
}

// Table returns the unwind table of a kind; its Size is 0 where there is none.
func (img *Image) Table(kind TableKind) Range {
	for _, t := range img.Tables {
		if t.Kind == kind {
			return t.Range
		}
	}
	return Range{}
}

// Container returns what the Image reads from, for a format's package that tells more
// of its own images than an Image does; nil where there is none.
func (img *Image) Container() Container { return img.container }

// SymbolAt finds the function symbol that covers addr.
func (img *Image) SymbolAt(addr uint64) (Symbol, bool) {
	if img.container == nil {
		return Symbol{}, false
	}
	return img.container.SymbolAt(addr)
}

// SymbolNamed finds a defined symbol by its exact name.
func (img *Image) SymbolNamed(name string) (Symbol, bool) {
	if img.container == nil {
		return Symbol{}, false
	}
	return img.container.SymbolNamed(name)
}

// Import names the symbol whose address the dynamic linker stores in the word at
// addr: an entry of the GOT, through which code reaches functions of other files.
// On MIPS addr may also be that of the lazy binding stub that the word holds at
// first. The symbol may be this file's own where another one can replace it. ok is
// false where nothing is known of the word.
func (img *Image) Import(addr uint64) (name string, ok bool) {
	if i, is := img.container.(importer); is {
		return i.Import(addr)
	}
	return "", false
}

// Rebased calls yield for every address of the image that its data holds, with the
// ISA mode bit, until it returns false: where a relocation says that a word moves with
// the image, and where the dynamic linker takes one. It tells whether those are all:
// if not, any word can be an address.
func (img *Image) Rebased(yield func(value uint64) bool) bool {
	r, is := img.container.(rebaser)
	return is && r.Rebased(yield)
}

// Functions calls yield for every function symbol until it returns false.
func (img *Image) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	if img.container != nil {
		img.container.Functions(yield)
	}
}

// Close releases the file.
func (img *Image) Close() error {
	if img.container == nil {
		return nil
	}
	return img.container.Close()
}

type memoEntry struct {
	once sync.Once
	v    any
	lost any // what make panicked with
}

// Memo returns the value that make built for key the first time; a source keeps
// its per-image tables so. Concurrent callers of one key wait for the first. Keys
// are compared like map keys: use an unexported type of the caller's package.
func (img *Image) Memo(key any, make func() any) any {
	e, ok := img.memo.Load(key)
	if !ok {
		e, _ = img.memo.LoadOrStore(key, new(memoEntry))
	}
	m := e.(*memoEntry)
	m.once.Do(func() {
		defer func() {
			if m.lost = recover(); m.lost != nil {
				panic(m.lost)
			}
		}()
		m.v = make()
	})
	if m.lost != nil { // for those who waited, and who come later
		panic(m.lost)
	}
	return m.v
}
