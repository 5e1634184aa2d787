package elf

import (
	"bytes"

	"github.com/backsight/backsight/internal/bin"
)

// phdr is a program header (gABI ch. 5).
type phdr struct {
	typ, flags                uint32
	off, vaddr, filesz, memsz uint64
}

// phdr decodes program header i < f.phnum.
func (f *file) phdr(i int) (p phdr) {
	r := bin.New(f.data, f.big)
	r.Seek(f.phoff + uint64(i)*f.phentsize)
	p.typ = r.U32()
	if f.wide {
		p.flags = r.U32()
	}
	p.off, p.vaddr = f.word(&r), f.word(&r)
	r.Skip(f.layout.addr) // p_paddr
	p.filesz, p.memsz = f.word(&r), f.word(&r)
	if !f.wide {
		p.flags = r.U32()
	}
	return p
}

// findPhdr returns the first program header of a type.
func (f *file) findPhdr(typ uint32) (phdr, bool) {
	for i := range f.phnum {
		if p := f.phdr(i); p.typ == typ {
			return p, true
		}
	}
	return phdr{}, false
}

// shdr is a section header (gABI ch. 4).
type shdr struct {
	name, typ              uint32
	flags, addr, off, size uint64
	link, info             uint32
}

// shdr decodes section header i < f.shnum.
func (f *file) shdr(i int) shdr { return f.shdrAt(f.shoff + uint64(i)*f.shentsize) }

func (f *file) shdrAt(off uint64) (s shdr) {
	r := bin.New(f.data, f.big)
	r.Seek(off)
	s.name, s.typ = r.U32(), r.U32()
	s.flags, s.addr, s.off, s.size = f.word(&r), f.word(&r), f.word(&r), f.word(&r)
	s.link, s.info = r.U32(), r.U32()
	return s
}

// findShdr returns the first section with a name. Names are compared in place.
func (f *file) findShdr(name string) (shdr, bool) {
	for i := range f.shnum {
		s := f.shdr(i)
		if s.typ != 0 && nameIs(f.shstrtab, s.name, name) {
			return s, true
		}
	}
	return shdr{}, false
}

// sectionBytes is what the file holds of a section, as it is stored.
func (f *file) sectionBytes(s shdr) []byte {
	if s.typ == shtNobits {
		return nil
	}
	return f.slice(s.off, s.size)
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
