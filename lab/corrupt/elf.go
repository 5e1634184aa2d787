package corrupt

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// elfFile is what of an ELF file says where its parts lie.
type elfFile struct {
	b     []byte
	order binary.ByteOrder
	word  int // bytes of an address
	// Where the tables lie, and the sizes of their entries.
	phoff, shoff       int
	phentsize, phnum   int
	shentsize, shnum   int
	shstrndx           int
	names              []byte
	segments, sections group
}

// most bounds the fields of a group: a libc has thousands of symbols.
const most = 4096

// elfGroups finds the parts of an ELF file that are well-formed enough. It never fails:
// the file may have been changed before.
func elfGroups(b []byte) (groups []group) {
	if len(b) < 64 {
		return nil
	}
	f := &elfFile{b: b, order: order(b[5] == 2), word: 4}
	if b[4] == 2 {
		f.word = 8
	}
	groups = append(groups, f.header())
	f.tables()
	groups = append(groups, f.segments, f.sections)
	for i := range f.segmentCount() {
		groups = append(groups, f.inSegment(i)...)
	}
	for i := range f.sectionCount() {
		groups = append(groups, f.inSection(i)...)
	}
	return slices.DeleteFunc(groups, func(g group) bool { return len(g.fields) == 0 })
}

// header is the ELF header (gABI, chapter 4).
func (f *elfFile) header() group {
	w := f.word
	g := group{name: "ELF header", order: f.order}
	g.add(f.b, 4, 1, 1, 1)
	at := g.add(f.b, 16, 2, 2, 4, w, w, w, 4, 2, 2, 2, 2, 2, 2)
	f.phoff, f.shoff = f.number(24+w, w), f.number(24+2*w, w)
	f.phentsize, f.phnum = f.number(at-10, 2), f.number(at-8, 2)
	f.shentsize, f.shnum = f.number(at-6, 2), f.number(at-4, 2)
	f.shstrndx = f.number(at-2, 2)
	return g
}

// tables reads the program headers and the section headers.
func (f *elfFile) tables() {
	w := f.word
	f.segments = group{name: "program headers", order: f.order, record: 8}
	for i := range min(f.phnum, most/8) {
		sizes := []int{4, 4, 8, 8, 8, 8, 8, 8}
		if w == 4 {
			sizes = []int{4, 4, 4, 4, 4, 4, 4, 4}
		}
		f.segments.add(f.b, f.phoff+i*f.phentsize, sizes...)
	}
	f.sections = group{name: "section headers", order: f.order, record: 10}
	for i := range min(f.shnum, most/10) {
		f.sections.add(f.b, f.shoff+i*f.shentsize, 4, 4, w, w, w, w, 4, 4, w, w)
	}
	f.names = f.contents(f.shstrndx)
}

func (f *elfFile) segmentCount() int { return len(f.segments.fields) / 8 }
func (f *elfFile) sectionCount() int { return len(f.sections.fields) / 10 }

// number reads one of size bytes, -1 where it is none that can be an offset.
func (f *elfFile) number(off, size int) int {
	g := group{order: f.order}
	if off < 0 || off > len(f.b)-size {
		return -1
	}
	if v := g.get(f.b, field{off: off, size: size}); v <= uint64(len(f.b)) {
		return int(v)
	}
	return -1
}

// of is the value of field k of record i of a table.
func (f *elfFile) of(g *group, i, k int) int {
	at := g.fields[i*g.record+k]
	return f.number(at.off, at.size)
}

// contents are the bytes of a section, nil where they are not in the file.
func (f *elfFile) contents(i int) []byte {
	if i < 0 || i >= f.sectionCount() {
		return nil
	}
	return f.span(f.of(&f.sections, i, 4), f.of(&f.sections, i, 5))
}

func (f *elfFile) span(off, size int) []byte {
	if off < 0 || size < 0 || off > len(f.b)-size {
		return nil
	}
	return f.b[off : off+size]
}

// inSegment are the notes and the dynamic section that program headers show.
func (f *elfFile) inSegment(i int) []group {
	off, size := f.of(&f.segments, i, 2), f.of(&f.segments, i, 5)
	if f.word == 4 {
		off, size = f.of(&f.segments, i, 1), f.of(&f.segments, i, 4)
	}
	if f.span(off, size) == nil {
		return nil
	}
	switch elf.ProgType(f.of(&f.segments, i, 0)) {
	case elf.PT_NOTE:
		return f.notes(off, size)
	case elf.PT_DYNAMIC:
		return []group{f.table("dynamic section", off, size, f.word, f.word)}
	}
	return nil
}

// inSection are the records of a section.
func (f *elfFile) inSection(i int) []group {
	off, size := f.of(&f.sections, i, 4), f.of(&f.sections, i, 5)
	typ := f.of(&f.sections, i, 1)
	if f.span(off, size) == nil || elf.SectionType(typ) == elf.SHT_NOBITS {
		return nil
	}
	switch elf.SectionType(typ) {
	case elf.SHT_SYMTAB, elf.SHT_DYNSYM:
		if f.word == 4 {
			return []group{f.table("symbols", off, size, 4, 4, 4, 1, 1, 2)}
		}
		return []group{f.table("symbols", off, size, 4, 1, 1, 2, 8, 8)}
	case elf.SHT_NOTE:
		return f.notes(off, size)
	case elf.SHT_REL, elf.SHT_HASH, elf.SHT_GNU_HASH, elf.SHT_GNU_VERSYM:
		return []group{f.table("relocations", off, size, f.word)}
	case elf.SHT_RELA:
		return []group{f.table("relocations", off, size, f.word, f.word, f.word)}
	}
	return f.named(f.name(i), off, size)
}

// name is that of a section.
func (f *elfFile) name(i int) string {
	at := f.of(&f.sections, i, 0)
	if at < 0 || at >= len(f.names) {
		return ""
	}
	name, _, _ := bytes.Cut(f.names[at:], []byte{0})
	return string(name)
}

// table is a table of records of numbers of the given sizes.
func (f *elfFile) table(name string, off, size int, sizes ...int) group {
	g := group{name: name, order: f.order, record: len(sizes)}
	each := 0
	for _, n := range sizes {
		each += n
	}
	for end := off + size; off+each <= end && len(g.fields) < most; off += each {
		g.add(f.b, off, sizes...)
	}
	return g
}

// ntPrstatus is a note with the registers of a thread (linux/elf.h).
const ntPrstatus = 1

// notes are the headers of notes, and the words of what they hold: addresses of mapped
// files, the auxiliary vector, registers.
func (f *elfFile) notes(off, size int) []group {
	heads := group{name: "note headers", order: f.order, record: 3}
	words := group{name: "notes", order: f.order}
	regs := group{name: "registers", order: f.order, evidence: true}
	for end := off + size; off+12 <= end && len(heads.fields) < most; {
		name, desc, typ := f.number(off, 4), f.number(off+4, 4), f.number(off+8, 4)
		heads.add(f.b, off, 4, 4, 4)
		off += 12 + (name+3)&^3
		if name < 0 || desc < 0 || off+desc > end {
			break
		}
		g := &words
		if typ == ntPrstatus {
			g = &regs
		}
		for at := off; at+f.word <= off+desc && len(g.fields) < most; at += f.word {
			g.add(f.b, at, f.word)
		}
		off += (desc + 3) &^ 3
	}
	return []group{heads, words, regs}
}
