package image

import "github.com/backsight/backsight/cpu"

// Symbol names an address.
type Symbol struct {
	Name string
	// Addr has the ISA mode bit removed; Mode keeps it.
	Addr uint64
	Mode cpu.Mode
	// Size is 0 where the file does not say; lookup then reaches to the next symbol.
	Size uint64
	// Resolver: the function there tells the dynamic linker where calls go (STT_GNU_IFUNC).
	Resolver bool
}

// Container reads what is lazy out of a file format. Methods are called from several
// goroutines; Section once for a name.
//
// A Container may have more methods, each for what Image's method of the same name
// tells: Import, Loaded, Rebased, Hollow, Companion, Supplement, FunctionStarts, Object, and SectionPart with SectionSize.
// An Image whose Container lacks one answers as that method's comment says; a Wrapper's is asked for
// those of the Container that it wraps.
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

// loader is a Container that tells the file itself from its debug file.
type loader interface {
	// Loaded returns a section of the file itself.
	Loaded(name string) (Section, bool)
}

// importer is a Container that knows what the dynamic linker fills in.
type importer interface {
	Import(addr uint64) (name string, ok bool)
}

// rebaser is a Container that knows which words hold addresses of the image.
type rebaser interface {
	Rebased(yield func(value uint64) bool) bool
}

// starter is a Container that knows where all functions begin.
type starter interface {
	FunctionAt(addr uint64) (lo, hi uint64, ok bool)
	FunctionStarts(yield func(addr uint64, mode cpu.Mode) bool) bool
}

// debugMapper is a Container whose debug information may be in the object files that it was linked
// from.
type debugMapper interface {
	Object(addr uint64) (obj *Image, at uint64, err error)
}

// parter is a Container that decompresses sections bit by bit.
type parter interface {
	SectionPart(name string, off, n uint64) []byte
	// SectionSize is the section's size, or what it claims to decompress to, which
	// the size of its stream makes credible.
	SectionSize(name string) uint64
}

// hollower is a Container that knows files without their code.
type hollower interface{ Hollow() bool }

// Hollow tells whether the file describes a program and has none of its code: a debug file, as
// objcopy --only-keep-debug makes them.
func (img *Image) Hollow() bool {
	h, is := ContainerAs[hollower](img.container)
	return is && h.Hollow()
}

// Container returns what the Image reads from, for a format's package that tells more
// of its own images than an Image does (ContainerAs); nil where there is none.
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
	if i, is := ContainerAs[importer](img.container); is {
		return i.Import(addr)
	}
	return "", false
}

// Rebased calls yield for every address of the image that its data holds, with the
// ISA mode bit, until it returns false: where a relocation says that a word moves with
// the image, and where the dynamic linker takes one. It tells whether those are all:
// if not, any word can be an address.
func (img *Image) Rebased(yield func(value uint64) bool) bool {
	r, is := ContainerAs[rebaser](img.container)
	return is && r.Rebased(yield)
}

// FunctionStarts calls yield for where each function begins, where the linker listed them
// all (Mach-O's LC_FUNCTION_STARTS), until it returns false. It reports whether there is such a
// list. It builds no strings.
func (img *Image) FunctionStarts(yield func(addr uint64, mode cpu.Mode) bool) bool {
	s, is := ContainerAs[starter](img.container)
	return is && s.FunctionStarts(yield)
}

// FunctionAt is the function of an address by the list of FunctionStarts: where it begins, and
// where the next one does. ok is false where there is no such list, or where addr lies before
// the first.
func (img *Image) FunctionAt(addr uint64) (lo, hi uint64, ok bool) {
	if s, is := ContainerAs[starter](img.container); is {
		return s.FunctionAt(addr)
	}
	return 0, 0, false
}

// Object is the object file that the code at addr was linked from, and where the code is in there,
// where the image refers to object files for debug information (Mach-O's debug map) and the file
// is found. The Image owns the object file. The error says why one that was found is not used.
func (img *Image) Object(addr uint64) (obj *Image, at uint64, err error) {
	if m, is := ContainerAs[debugMapper](img.container); is {
		return m.Object(addr)
	}
	return nil, 0, nil
}

// HasFunctions tells whether there is any function symbol.
func (img *Image) HasFunctions() (some bool) {
	img.Functions(func(uint64, cpu.Mode, uint64) bool {
		some = true
		return false
	})
	return some
}

// Functions calls yield for every function symbol until it returns false.
func (img *Image) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	if img.container != nil {
		img.container.Functions(yield)
	}
}
