package elf

import (
	"bytes"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// headers is a table of headers in a file: n entries of size bytes from off on, what the
// file really has room for.
type headers struct {
	enc       *encoding
	data      []byte // the file
	off, size uint64
	n         int
}

// fit is how many of n entries lie in the file; 0 where an entry is smaller than what it
// must hold. Offset 0 means no table.
func (h *headers) fit(least uint64, n int) int {
	if h.off == 0 || h.size < least || h.off > uint64(len(h.data)) {
		return 0
	}
	return bin.Limit((uint64(len(h.data))-h.off)/h.size, n)
}

// reader is at entry i < n.
func (h *headers) reader(i int) bin.Reader {
	return bin.NewAt(h.data, h.off+uint64(i)*h.size, h.enc.big)
}

// slice is the file's bytes [off, off+n), cut at the end of the file.
func (h *headers) slice(off, n uint64) []byte {
	if off >= uint64(len(h.data)) {
		return nil
	}
	b := h.data[off:]
	return b[:bin.Limit(n, len(b))]
}

// programHeaders are those of a file's segments.
type programHeaders struct{ headers }

// maxPhdrs bounds the program headers: Linux runs no file with more than 64 kB
// of them (fs/binfmt_elf.c, load_elf_phdrs), 2048 of the smaller kind. Only core
// files have more.
const maxPhdrs = 2048

// phdr is a program header (gABI ch. 5).
type phdr struct {
	typ, flags                uint32
	off, vaddr, filesz, memsz uint64
}

// at decodes header i < n.
func (h *programHeaders) at(i int) (p phdr) {
	r := h.reader(i)
	p.typ = r.U32()
	if h.enc.wide {
		p.flags = r.U32()
	}
	p.off, p.vaddr = h.enc.word(&r), h.enc.word(&r)
	r.Skip(h.enc.addr) // p_paddr
	p.filesz, p.memsz = h.enc.word(&r), h.enc.word(&r)
	if !h.enc.wide {
		p.flags = r.U32()
	}
	return p
}

// find returns the first header of a type.
func (h *programHeaders) find(typ uint32) (phdr, bool) {
	for i := range h.n {
		if p := h.at(i); p.typ == typ {
			return p, true
		}
	}
	return phdr{}, false
}

// bytes is what the file holds of a segment.
func (h *programHeaders) bytes(p phdr) []byte { return h.slice(p.off, p.filesz) }

// bytesAt is what the file holds from an image address to the end of its
// segment, nil where no segment covers it.
func (h *programHeaders) bytesAt(addr uint64) []byte {
	for i := range h.n {
		p := h.at(i)
		if p.typ == ptLoad && addr-p.vaddr < p.filesz {
			data := h.bytes(p)
			return data[bin.Limit(addr-p.vaddr, len(data)):]
		}
	}
	return nil
}

// mapped is where the program headers are mapped when there is no PT_PHDR: in the
// segment that holds their file range. The kernel computes AT_PHDR the same way
// (fs/binfmt_elf.c, load_elf_binary).
func (h *programHeaders) mapped(segs []image.Segment) image.Range {
	for _, s := range segs {
		if h.off >= s.FileOff && h.off-s.FileOff < uint64(len(s.Data)) {
			return image.Range{Addr: s.Addr + h.off - s.FileOff, Size: uint64(h.n) * h.size}
		}
	}
	return image.Range{}
}

// sectionHeaders are those of a file's sections, and the names of these.
type sectionHeaders struct {
	headers
	names []byte // .shstrtab
	// starts are where to begin to look for a name, by its nameSum: one more than the first section of that sum; 0: none has the sum.
	starts [256]uint8
}

// maxShdrs bounds the section headers. Linked files have less than a hundred; every
// section is found by going through them.
const maxShdrs = 1 << 16

// newSectionHeaders applies the escapes for large section counts (gABI ch. 4,
// e_shnum and e_shstrndx): section 0 then holds the true numbers.
func newSectionHeaders(h headers, shstrndx uint32) sectionHeaders {
	s := sectionHeaders{headers: h}
	if s.fit(s.enc.layout.shdr, 1) == 0 {
		s.n = 0
		return s
	}
	count, first := uint64(s.n), s.at(0)
	if count == 0 {
		count = first.size
	}
	if shstrndx == shnXIndex {
		shstrndx = first.link
	}
	s.n = s.fit(s.enc.layout.shdr, bin.Limit(count, maxShdrs))
	if uint64(shstrndx) < uint64(s.n) {
		s.names = s.bytes(s.at(int(shstrndx)))
	}
	s.addNames()
	return s
}

// mostNamed is how many sections are found by their names' sums. Linked files have some forty.
const mostNamed = 255

// addNames fills starts. More sections than mostNamed are all gone through.
func (h *sectionHeaders) addNames() {
	for i := min(h.n, mostNamed) - 1; i >= 0; i-- {
		r := h.reader(i)
		h.starts[nameSum(nameAt(h.names, r.U32()))] = uint8(i + 1)
	}
	if h.n > mostNamed {
		for i := range h.starts {
			h.starts[i] = 1
		}
	}
}

// nameSum is a number by a name's length and two of its letters.
func nameSum[S string | []byte](name S) uint8 {
	n := len(name)
	if n == 0 {
		return 0
	}
	return 37*uint8(n) + 11*name[n-1] + 5*name[n/2]
}

// shdr is a section header (gABI ch. 4).
type shdr struct {
	name, typ              uint32
	flags, addr, off, size uint64
	link, info             uint32
}

// at decodes header i < n.
func (h *sectionHeaders) at(i int) (s shdr) {
	r := h.reader(i)
	s.name, s.typ = r.U32(), r.U32()
	s.flags, s.addr, s.off, s.size = h.enc.word(&r), h.enc.word(&r), h.enc.word(&r), h.enc.word(&r)
	s.link, s.info = r.U32(), r.U32()
	return s
}

// find returns the first section with a name. Names are compared in place, of each image for some fifty questions, most of which are
// for sections that few images have.
func (h *sectionHeaders) find(name string) (shdr, bool) {
	start := int(h.starts[nameSum(name)])
	if start == 0 {
		return shdr{}, false
	}
	order, table := bin.Order(h.enc.big), h.data[min(h.off, uint64(len(h.data))):]
	for i := start - 1; i < h.n; i++ {
		if b := table[uint64(i)*h.size:]; nameIs(h.names, order.U32(b), name) && order.U32(b[4:]) != 0 {
			return h.at(i), true
		}
	}
	return shdr{}, false
}

// bytes is what the file holds of a section, as it is stored.
func (h *sectionHeaders) bytes(s shdr) []byte {
	if s.typ == shtNobits {
		return nil
	}
	return h.slice(s.off, s.size)
}

// nameIs tells whether the string at off of a string table is want. A string
// that the table's end cuts off is no string.
func nameIs(strtab []byte, off uint32, want string) bool {
	if uint64(off) >= uint64(len(strtab)) {
		return false
	}
	b := strtab[off:]
	return len(b) > len(want) && b[len(want)] == 0 && string(b[:len(want)]) == want
}

// maxName bounds the length of one symbol name: C++ and Rust names of some 10 kB
// exist; a string table without a NUL may be as long as the file.
const maxName = 1 << 16

// nameAt is the string at off of a string table, nil where it does not end.
func nameAt(strtab []byte, off uint32) []byte {
	if uint64(off) >= uint64(len(strtab)) {
		return nil
	}
	b := strtab[off:]
	b = b[:min(len(b), maxName)]
	n := bytes.IndexByte(b, 0)
	return b[:max(n, 0)]
}
