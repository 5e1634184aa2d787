package elf

import (
	"sync"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// file is the bytes of one ELF file and its ELF header. Headers of sections and
// segments are decoded from data when asked for; nothing is kept of them, so a
// table of a million entries costs nothing but the look at it.
type file struct {
	path string
	data []byte

	layout
	wide         bool // ELFCLASS64
	big          bool // ELFDATA2MSB
	typ, machine uint16
	flags        uint32
	entry        uint64

	phoff, shoff         uint64
	phentsize, shentsize uint64
	phnum, shnum         int // what the file really has room for
	shstrtab             []byte

	expansion expansion
	inflaters sync.Pool // of *inflate.Reader, for one section after another
}

// maxPhdrs bounds the program headers: Linux runs no file with more than 64 kB
// of them (fs/binfmt_elf.c, load_elf_phdrs), 2048 of the smaller kind. Only core
// files have more.
const maxPhdrs = 2048

// maxShdrs bounds the section headers. Linked files have less than a hundred; every
// section is found by going through them.
const maxShdrs = 1 << 16

// layout has the sizes of Elf32_Addr, Elf32_Phdr, … or their 64-bit forms (gABI
// ch. 4 and 5).
type layout struct{ addr, phdr, shdr, sym, chdr uint64 }

var (
	layout32 = layout{4, 32, 40, 16, 12}
	layout64 = layout{8, 56, 64, 24, 24}
)

// newFile checks and decodes the ELF header. It allocates nothing by the
// file's numbers; tables that reach past the end are cut to what is there.
func newFile(path string, data []byte) (*file, error) {
	f := &file{path: path, data: data}
	f.expansion.left = budget.New("decompressed bytes", expansionFloor, expansionPerByte*uint64(len(data)))
	if len(data) == 0 {
		return nil, f.errorf(0, "empty file")
	}
	if err := f.readIdent(); err != nil {
		return nil, err
	}
	r := bin.New(data, f.big)
	r.Seek(16)
	f.typ, f.machine = r.U16(), r.U16()
	r.Skip(4) // e_version
	f.entry, f.phoff, f.shoff = f.word(&r), f.word(&r), f.word(&r)
	f.flags = r.U32()
	r.Skip(2) // e_ehsize
	f.phentsize, f.phnum = uint64(r.U16()), int(r.U16())
	f.shentsize, f.shnum = uint64(r.U16()), int(r.U16())
	shstrndx := uint32(r.U16())
	if r.Err() != nil {
		return nil, f.errorf(uint64(len(data)), "the file ends within its ELF header")
	}
	f.phnum = min(f.fit(f.phoff, f.phentsize, f.layout.phdr, f.phnum), maxPhdrs)
	f.findSections(shstrndx)
	return f, nil
}

// readIdent checks e_ident for what decides how to read everything else.
func (f *file) readIdent() error {
	r := bin.New(f.data, false)
	if string(r.Bytes(4)) != magic {
		return f.errorf(0, "not an ELF file")
	}
	class, data := r.U8(), r.U8()
	if class != 1 && class != 2 {
		return f.errorf(4, "unknown ELF class")
	}
	if data != 1 && data != 2 {
		return f.errorf(5, "unknown ELF data encoding")
	}
	f.wide, f.big = class == 2, data == 2
	f.layout = layout32
	if f.wide {
		f.layout = layout64
	}
	return nil
}

// findSections applies the escapes for large section counts (gABI ch. 4,
// e_shnum and e_shstrndx): section 0 then holds the true numbers.
func (f *file) findSections(shstrndx uint32) {
	if f.fit(f.shoff, f.shentsize, f.layout.shdr, 1) == 0 {
		f.shnum = 0
		return
	}
	count := uint64(f.shnum)
	first := f.shdrAt(f.shoff)
	if count == 0 {
		count = first.size
	}
	if shstrndx == shnXIndex {
		shstrndx = first.link
	}
	f.shnum = f.fit(f.shoff, f.shentsize, f.layout.shdr, bin.Limit(count, maxShdrs))
	if uint64(shstrndx) < uint64(f.shnum) {
		f.shstrtab = f.sectionBytes(f.shdr(int(shstrndx)))
	}
}

// fit is how many of n entries of size bytes lie in the file from off; 0 where
// an entry is smaller than what it must hold. Offset 0 means no table.
func (f *file) fit(off, size, least uint64, n int) int {
	if off == 0 || size < least || off > uint64(len(f.data)) {
		return 0
	}
	return bin.Limit((uint64(len(f.data))-off)/size, n)
}

// slice is the file's bytes [off, off+n), cut at the end of the file.
func (f *file) slice(off, n uint64) []byte {
	if off >= uint64(len(f.data)) {
		return nil
	}
	b := f.data[off:]
	return b[:bin.Limit(n, len(b))]
}

// word reads an Elf_Addr, Elf_Off or Elf_Xword.
func (f *file) word(r *bin.Reader) uint64 {
	if f.wide {
		return r.U64()
	}
	return uint64(r.U32())
}

func (f *file) errorf(off uint64, reason string) error {
	return &image.Error{Path: f.path, Offset: int64(off), Reason: reason}
}

// sameTarget tells whether two files are of one machine, as a binary and its
// debug file are.
func (f *file) sameTarget(g *file) bool {
	return f.machine == g.machine && f.wide == g.wide && f.big == g.big
}
