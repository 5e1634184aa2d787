// Package debugfile writes separate debug files: ELF with the headers of what a binary loads, its build
// ID, the starts of functions as symbols, and sections that a table's readers look for.
//
// Debuggers find such a file by the build ID, as .build-id/xx/yyyy.debug below their directory, or are
// given it by name. Specification: gABI, chapters 4 and 5.
package debugfile

import (
	"encoding/binary"
	"encoding/hex"
	"io"
	"path/filepath"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/tables"
)

// Numbers of the gABI, chapters 4 and 5.
const (
	typeProgbits = 1
	typeSymtab   = 2
	typeStrtab   = 3
	typeNote     = 7
	typeNobits   = 8

	flagAlloc = 2
	flagExec  = 4

	shndxReserved = 0xff00
	functionType  = 2
	bindGlobal    = 1 << 4

	segmentLoad = 1
	etExec      = 2
	page        = 4096
)

// Section is what a table adds to the file.
type Section struct {
	Name  string
	Data  []byte
	Align uint64
	// Addr is where the section is loaded, of which its contents are relative; 0: it is not.
	Addr uint64
}

// Write writes the debug file of a program, with sections.
func Write(w io.Writer, p *tables.Program, sections ...Section) error {
	f := newFile(p)
	for _, s := range sections {
		f.add(s)
	}
	f.symbols(p)
	_, err := w.Write(f.bytes())
	return err
}

// Path is where debuggers look for the debug file of a program below their directory: by the build
// ID or, without one, by what a .gnu_debuglink usually names.
func Path(p *tables.Program) string {
	id := hex.EncodeToString(p.Image.BuildID)
	if len(id) > 2 {
		return filepath.Join(".build-id", id[:2], id[2:]+".debug")
	}
	return filepath.Base(p.Image.Path) + ".debug"
}

// Behind is an address behind all that the image loads, for a section whose contents are relative to
// where it lies itself.
func Behind(img *image.Image) uint64 {
	_, end := img.Segments.Bounds()
	return (end + page - 1) &^ (page - 1)
}

// section is a section with its header.
type section struct {
	name             string
	typ, link, info  uint32
	flags, addr      uint64
	size, entry, pad uint64
	data             []byte
}

// file is a separate debug file: the headers of what is loaded, without bytes, and the sections
// that debuggers read.
type file struct {
	img      *image.Image
	arch     *cpu.Arch
	order    binary.AppendByteOrder
	of       elf.Outline
	sections []section
	out      []byte
}

func newFile(p *tables.Program) *file {
	img := p.Image
	f := &file{img: img, arch: img.Arch, order: binary.LittleEndian, sections: make([]section, 1)}
	if f.arch.BigEndian {
		f.order = binary.BigEndian
	}
	var ok bool
	if f.of, ok = elf.OutlineOf(img); !ok {
		f.of = elf.Outline{Type: etExec, Machine: f.arch.ELF.Machine, Flags: f.arch.ELF.Flags, Entry: img.Entry}
	}
	if len(f.of.Sections) == 0 {
		f.segmentsAsSections()
	}
	for _, s := range f.of.Sections {
		f.loaded(s)
	}
	if len(img.BuildID) > 0 {
		f.sections = append(f.sections, section{name: ".note.gnu.build-id", typ: typeNote, data: f.buildID(), pad: 4})
	}
	return f
}

// segmentsAsSections stands in for the sections of a file that states none.
func (f *file) segmentsAsSections() {
	for _, s := range f.img.Segments {
		h := elf.SectionHeader{Name: ".data", Type: typeNobits, Flags: flagAlloc, Addr: s.Addr, Size: s.Size, Exec: s.Exec}
		if s.Exec {
			h.Name, h.Flags = ".text", flagAlloc|flagExec
		}
		f.of.Sections = append(f.of.Sections, h)
	}
}

// loaded repeats a section's header. Notes and unwind tables are left out: the debug file has its
// own, or none.
func (f *file) loaded(s elf.SectionHeader) {
	switch s.Name {
	case ".note.gnu.build-id", ".eh_frame", ".eh_frame_hdr", ".debug_frame", ".sframe", ".orc_unwind", ".orc_unwind_ip", ".orc_header":
		return
	}
	f.sections = append(f.sections, section{name: s.Name, typ: typeNobits, flags: s.Flags, addr: s.Addr, size: s.Size, pad: 1})
}

// buildID is the note with the image's build ID (NT_GNU_BUILD_ID).
func (f *file) buildID() []byte {
	const kind = 3
	id := f.img.BuildID
	b := f.order.AppendUint32(nil, 4)
	b = f.order.AppendUint32(b, uint32(len(id)))
	b = f.order.AppendUint32(b, kind)
	b = append(append(b, "GNU\x00"...), id...)
	return append(b, make([]byte, -len(id)&3)...)
}

// add adds a section of a table.
func (f *file) add(t Section) {
	s := section{name: t.Name, typ: typeProgbits, data: t.Data, pad: t.Align}
	if t.Addr != 0 {
		s.flags, s.addr = flagAlloc, t.Addr
	}
	f.sections = append(f.sections, s)
}

// bytes lays the file out: header, program headers, sections, section headers.
func (f *file) bytes() []byte {
	f.names()
	header, entry, shentry := 52, 32, 40
	if f.wide() {
		header, entry, shentry = 64, 56, 64
	}
	f.out = make([]byte, header+entry*len(f.img.Segments))
	offsets := make([]int, len(f.sections))
	for i := range f.sections {
		s := &f.sections[i]
		for s.pad > 1 && uint64(len(f.out))%s.pad != 0 {
			f.out = append(f.out, 0)
		}
		offsets[i] = len(f.out)
		f.out = append(f.out, s.data...)
	}
	for len(f.out)%8 != 0 {
		f.out = append(f.out, 0)
	}
	table := len(f.out)
	at := uint32(1) // of a name; the first section has none
	for i := range f.sections {
		f.sectionHeader(&f.sections[i], at, offsets[i])
		if i > 0 {
			at += uint32(len(f.sections[i].name)) + 1
		}
	}
	w := file{img: f.img, arch: f.arch, order: f.order, of: f.of}
	w.header(header, entry, shentry, table, len(f.sections))
	w.programHeaders()
	copy(f.out, w.out)
	return f.out
}

// names adds the section of the sections' names, the last one.
func (f *file) names() {
	s := section{name: ".shstrtab", typ: typeStrtab, pad: 1}
	f.sections = append(f.sections, s)
	b := []byte{0}
	for i := 1; i < len(f.sections); i++ {
		b = append(append(b, f.sections[i].name...), 0)
	}
	f.sections[len(f.sections)-1].data = b
}

func (f *file) wide() bool { return f.arch.ELF.Class == 2 }

func (f *file) u16(v uint16) { f.out = f.order.AppendUint16(f.out, v) }
func (f *file) u32(v uint32) { f.out = f.order.AppendUint32(f.out, v) }

func (f *file) word(v uint64) {
	if f.wide() {
		f.out = f.order.AppendUint64(f.out, v)
		return
	}
	f.u32(uint32(v))
}

// header writes the ELF header.
func (f *file) header(size, entry, shentry, table, sections int) {
	data := byte(1)
	if f.arch.BigEndian {
		data = 2
	}
	f.out = append(f.out, 0x7f, 'E', 'L', 'F', f.arch.ELF.Class, data, 1, f.of.OSABI)
	f.out = append(f.out, make([]byte, 8)...)
	f.u16(f.of.Type)
	f.u16(f.of.Machine)
	f.u32(1)
	f.word(f.of.Entry)
	f.word(uint64(size))
	f.word(uint64(table))
	f.u32(f.of.Flags)
	for _, v := range []int{size, entry, len(f.img.Segments), shentry, sections, sections - 1} {
		f.u16(uint16(v))
	}
}

// programHeaders says what is loaded where, with no bytes in this file: elfutils compares this with
// the binary.
func (f *file) programHeaders() {
	for i := range f.img.Segments {
		s := &f.img.Segments[i]
		flags := uint32(0)
		for k, set := range []bool{s.Exec, s.Write, s.Read} {
			if set {
				flags |= 1 << k
			}
		}
		f.u32(segmentLoad)
		if f.wide() {
			f.u32(flags)
		}
		f.word(s.Addr % page)
		f.word(s.Addr)
		f.word(s.Addr)
		f.word(0)
		f.word(s.Size)
		if !f.wide() {
			f.u32(flags)
		}
		f.word(page)
	}
}

// sectionHeader writes a header.
func (f *file) sectionHeader(s *section, name uint32, off int) {
	if s.typ == 0 {
		name, off = 0, 0
	}
	size := s.size
	if s.typ != typeNobits {
		size = uint64(len(s.data))
	}
	f.u32(name)
	f.u32(s.typ)
	f.word(s.flags)
	f.word(s.addr)
	f.word(uint64(off))
	f.word(size)
	f.u32(s.link)
	f.u32(s.info)
	f.word(s.pad)
	f.word(s.entry)
}
