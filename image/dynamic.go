package image

// importer is a Container that knows which symbols the dynamic linker fills in.
type importer interface {
	Import(addr uint64) (name string, ok bool)
}

// Import names the symbol whose address the dynamic linker stores in the word at an image
// address: an entry of the GOT, through which code reaches functions of other files.
// On MIPS addr may also be the address of the lazy binding stub that the word holds at
// first; in a module of a kernel, the address of what it calls in the kernel. The symbol may be this file's own, where another file's symbol can replace it. ok is
// false where nothing is known of the word.
func (img *Image) Import(addr uint64) (name string, ok bool) {
	if i, is := ContainerAs[importer](img.container); is {
		return i.Import(addr)
	}
	return "", false
}

// definer is an importer that knows which of its imports the image defines itself.
type definer interface {
	Defined(addr uint64) (s Symbol, imported, ok bool)
}

// OwnImport is the image's own symbol that Import names for the word at an image address: libraries call what they export
// through their GOT, where another module may put its symbol of that name. imported is what Import tells; ok is false where
// the image has no such symbol. Addresses are image addresses.
func (img *Image) OwnImport(addr uint64) (s Symbol, imported, ok bool) {
	if d, is := ContainerAs[definer](img.container); is {
		return d.Defined(addr)
	}
	name, imported := img.Import(addr)
	if imported {
		s, ok = img.Symbols.Named(name)
	}
	return s, imported, ok
}

// linked is a Container that knows which words of writable memory the program does not write.
type linked interface {
	Linked(addr uint64) bool
}

// Linked tells whether the linker alone decides what the word at an image address holds, as an address
// that moves with the image, though the word lies in writable memory: an entry of the MIPS GOT that stands
// for no symbol of other files.
func (img *Image) Linked(addr uint64) bool {
	l, is := ContainerAs[linked](img.container)
	return is && l.Linked(addr)
}

// sealing is a Container that knows which writable memory the dynamic linker makes read-only.
type sealing interface {
	Sealed(addr uint64) bool
}

// Constant tells whether the program never writes at an image address: the segment is not writable, or what is there is read-only once the
// dynamic linker has relocated it. False where the image has nothing.
func (img *Image) Constant(addr uint64) bool {
	s, ok := img.Segments.At(addr)
	if !ok || !s.Write {
		return ok
	}
	c, is := ContainerAs[sealing](img.container)
	return is && c.Sealed(addr)
}

// resolving is a Container that knows which words are filled with what code of its own returns.
type resolving interface {
	Resolver(addr uint64) (resolver uint64, ok bool)
}

// Resolver is the image address, ISA mode bit included, of the code that tells the dynamic linker
// what to store in the word at an image address: the address of one of several functions, the best
// for the processor (STT_GNU_IFUNC), where the file itself calls such a function of its own.
func (img *Image) Resolver(addr uint64) (resolver uint64, ok bool) {
	if r, is := ContainerAs[resolving](img.container); is {
		return r.Resolver(addr)
	}
	return 0, false
}

// rebaser is a Container that knows which words hold addresses of the image.
type rebaser interface {
	Rebased(yield func(value uint64) bool) bool
}

// Rebased calls yield for every image address that the image's data holds, ISA mode bit
// included, until yield returns false: words that a relocation moves with the image, and words
// that the dynamic linker uses as addresses. The result tells whether these are all addresses in
// the data; if not, any word can be an address.
func (img *Image) Rebased(yield func(value uint64) bool) bool {
	r, is := ContainerAs[rebaser](img.container)
	return is && r.Rebased(yield)
}

// mover is a Container that knows what words will be that the file does not have.
type mover interface {
	Moved(addr uint64) (value uint64, ok bool)
}

// LoadedWord is the word at an image address as a program has it when it starts, if the word holds an address of
// the image: an image address, ISA mode bit included. Where relocations have what the word will be, the
// file's word is 0 (AArch64, x86-64). An import is the image's own function of that name.
func (img *Image) LoadedWord(addr uint64) (value uint64, ok bool) {
	if m, is := ContainerAs[mover](img.container); is {
		if v, moved := m.Moved(addr); moved {
			return v, true
		}
	}
	if s, imported, defined := img.OwnImport(addr); imported {
		if img.Arch.ISABit {
			s.Addr |= uint64(s.Mode)
		}
		return s.Addr, defined && s.Addr != 0
	}
	return img.Word(addr)
}
