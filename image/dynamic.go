package image

// importer is a Container that knows what the dynamic linker fills in.
type importer interface {
	Import(addr uint64) (name string, ok bool)
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

// rebaser is a Container that knows which words hold addresses of the image.
type rebaser interface {
	Rebased(yield func(value uint64) bool) bool
}

// Rebased calls yield for every address of the image that its data holds, with the
// ISA mode bit, until it returns false: where a relocation says that a word moves with
// the image, and where the dynamic linker takes one. It tells whether those are all:
// if not, any word can be an address.
func (img *Image) Rebased(yield func(value uint64) bool) bool {
	r, is := ContainerAs[rebaser](img.container)
	return is && r.Rebased(yield)
}
