package pe

import (
	"bytes"
	"strconv"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Data directories (IMAGE_DIRECTORY_ENTRY_…).
const (
	exportDirectory     = 0
	importDirectory     = 1
	exceptionDirectory  = 3
	debugDirectory      = 6
	loadConfigDirectory = 10
	directories         = 16
)

// Characteristics of files and of sections.
const (
	relocsStripped = 0x0001 // IMAGE_FILE_RELOCS_STRIPPED

	execute = 0x2000_0000 // IMAGE_SCN_MEM_EXECUTE
	read    = 0x4000_0000
	write   = 0x8000_0000
)

// maxSections is the loader's bound.
const maxSections = 96

// symbolSize is the size of an entry of the COFF symbol table.
const symbolSize = 18

// extent is a range of relative virtual addresses.
type extent struct{ rva, size uint32 }

// section is an entry of the section table.
type section struct {
	name  string
	where extent // in memory
	off   uint32 // in the file, and how many bytes of it
	raw   uint32
	flags uint32
}

// file is what the headers say.
type file struct {
	in              *image.File
	at              uint64 // of the PE header
	machine         uint16
	characteristics uint16
	wide            bool // PE32+
	base            uint64
	entry           uint32
	headers         uint32 // bytes from the file's beginning that are loaded at the base
	dirs            [directories]extent
	sections        []section
	symbols         []byte // entries of the COFF symbol table
	strings         []byte // its names, counted from their table's size
}

// parse reads the headers. The error names the place.
func parse(in *image.File) (*file, error) {
	f := &file{in: in}
	dos := bin.NewAt(in.Data, lfanew, false)
	f.at = uint64(dos.U32())
	r := bin.NewAt(in.Data, f.at+4, false)
	f.machine = r.U16()
	count := r.U16()
	r.Skip(4) // time
	symbols, entries, size := r.U32(), r.U32(), r.U16()
	f.characteristics = r.U16()
	table := uint64(r.Offset()) + uint64(size)
	if err := f.optional(&r); err != nil {
		return nil, err
	}
	f.coff(uint64(symbols), uint64(entries))
	r = bin.NewAt(in.Data, table, false)
	for range min(int(count), maxSections) {
		f.sections = append(f.sections, f.section(&r))
	}
	if r.Err() != nil {
		return nil, in.Errorf(table, "the section table lies beyond the end of the file")
	}
	return f, nil
}

// optional reads the optional header, which files that are loaded have.
func (f *file) optional(r *bin.Reader) error {
	const pe32, pe32Plus = 0x10b, 0x20b
	start := uint64(r.Offset())
	magic := r.U16()
	if r.Err() != nil {
		return f.in.Errorf(f.at, "the PE header ends with the file")
	}
	if magic != pe32 && magic != pe32Plus {
		return f.in.Errorf(start, "the optional header begins with %#x: neither PE32 nor PE32+", magic)
	}
	f.wide = magic == pe32Plus
	r.Skip(14) // linker's version, sizes of code and data
	f.entry = r.U32()
	r.Skip(4) // base of code
	count := uint64(92)
	if f.wide {
		f.base, count = r.U64(), 108
	} else {
		r.Skip(4) // base of data
		f.base = uint64(r.U32())
	}
	r.Seek(start + 60)
	f.headers = r.U32()
	r.Seek(start + count)
	for i := range min(r.U32(), directories) {
		f.dirs[i] = extent{r.U32(), r.U32()}
	}
	if r.Err() != nil {
		return f.in.Errorf(start, "the optional header ends with the file")
	}
	return nil
}

// coff finds the symbol table, and behind it the names that are longer than eight bytes.
func (f *file) coff(off, entries uint64) {
	if off == 0 {
		return
	}
	data := f.in.Data[bin.Limit(off, len(f.in.Data)):]
	f.symbols = data[:bin.Limit(entries*symbolSize, len(data))]
	f.strings = data[len(f.symbols):]
}

func (f *file) section(r *bin.Reader) (s section) {
	s.name = f.name(r.Bytes(8))
	s.where.size, s.where.rva = r.U32(), r.U32()
	s.raw, s.off = r.U32(), r.U32()&^511 // the loader reads whole sectors
	r.Skip(12)
	s.flags = r.U32()
	if s.where.size == 0 {
		s.where.size = s.raw
	}
	return s
}

// maxName bounds the length of a name.
const maxName = 1 << 14

// name is a section's name: eight bytes, or the decimal place of a longer one in the table of names.
func (f *file) name(field []byte) string {
	field, _, _ = bytes.Cut(field, []byte{0})
	if rest, long := bytes.CutPrefix(field, []byte("/")); long {
		if at, err := strconv.ParseUint(string(rest), 10, 32); err == nil {
			return f.long(at)
		}
	}
	return string(field)
}

// long is the name at a place of the table of names.
func (f *file) long(at uint64) string {
	return text(f.strings[bin.Limit(at, len(f.strings)):])
}

// text is the string that data begins with.
func text(data []byte) string {
	data, _, _ = bytes.Cut(data[:min(len(data), maxName)], []byte{0})
	return string(data)
}

// segments are the headers and the sections as the loader maps them.
func (f *file) segments() (segs image.Segments) {
	head := f.in.Data[:bin.Limit(uint64(f.headers), len(f.in.Data))]
	segs = append(segs, image.Segment{Addr: f.base, Size: uint64(len(head)), Data: head, Read: true})
	for i := range f.sections {
		s := &f.sections[i]
		segs = append(segs, image.Segment{
			Addr: f.base + uint64(s.where.rva), Size: uint64(s.where.size), Data: f.raw(s), FileOff: uint64(s.off),
			Read: s.flags&read != 0, Write: s.flags&write != 0, Exec: s.flags&execute != 0,
		})
	}
	if len(f.sections) == 0 {
		return nil
	}
	return segs
}

// raw is the bytes that the file has of a section.
func (f *file) raw(s *section) []byte {
	data := f.in.Data[bin.Limit(uint64(s.off), len(f.in.Data)):]
	return data[:bin.Limit(uint64(min(s.raw, s.where.size)), len(data))]
}

func (f *file) directory(i int) extent { return f.dirs[i] }

// bytes is the file's bytes of an extent, cut at the end of its section.
func (f *file) bytes(x extent) []byte {
	for i := range f.sections {
		s := &f.sections[i]
		if skip := x.rva - s.where.rva; x.rva >= s.where.rva && skip < s.where.size {
			data := f.raw(s)
			data = data[bin.Limit(uint64(skip), len(data)):]
			return data[:bin.Limit(uint64(x.size), len(data))]
		}
	}
	return nil
}

// rest is the file's bytes from a relative virtual address to the end of its section.
func (f *file) rest(rva uint32) []byte { return f.bytes(extent{rva, 1<<32 - 1}) }
