package elf

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// file is the bytes of one ELF file and its ELF header. Headers of sections and
// segments are decoded from data when asked for; nothing is kept of them, so a
// table of a million entries costs nothing but the look at it.
type file struct {
	in   *image.File // whose bytes are data
	path string
	data []byte

	encoding
	typ   uint16
	flags uint32
	entry uint64

	segments programHeaders
	sections sectionHeaders

	expansion expansion
}

// newFile checks and decodes the ELF header. It allocates nothing by the
// file's numbers; tables that reach past the end are cut to what is there.
func newFile(in *image.File) (*file, error) {
	path, data := in.Name, in.Data
	f := &file{in: in, path: path, data: data}
	f.expansion.left = budget.New("decompressed bytes", expansionFloor, expansionPerByte*uint64(len(data)))
	if len(data) == 0 {
		return nil, f.errorf(0, "empty file")
	}
	var err error
	if f.encoding, err = readIdent(path, data); err != nil {
		return nil, err
	}
	r := bin.New(data, f.big)
	r.Seek(16)
	f.typ, f.machine = r.U16(), r.U16()
	r.Skip(4) // e_version
	segments, sections := headers{enc: &f.encoding, data: data}, headers{enc: &f.encoding, data: data}
	f.entry, segments.off, sections.off = f.word(&r), f.word(&r), f.word(&r)
	f.flags = r.U32()
	r.Skip(2) // e_ehsize
	segments.size, segments.n = uint64(r.U16()), int(r.U16())
	sections.size, sections.n = uint64(r.U16()), int(r.U16())
	shstrndx := uint32(r.U16())
	if r.Err() != nil {
		return nil, f.errorf(uint64(len(data)), "the file ends within its ELF header")
	}
	segments.n = min(segments.fit(f.layout.phdr, segments.n), maxPhdrs)
	f.segments, f.sections = programHeaders{segments}, newSectionHeaders(sections, shstrndx)
	return f, nil
}

func (f *file) errorf(off uint64, reason string) error {
	return &image.Error{Path: f.path, Offset: int64(off), Reason: reason}
}
