package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// file is an ELF file, as far as it changes.
type file struct {
	bytes          []byte
	layout         layout
	program        []program
	sectionHeaders []byte
	names          []byte // of sections; nil: the file has no sections
	namesIndex     int
}

// program is a program header.
type program struct {
	kind, flags                                uint32
	offset, vaddr, paddr, filesz, memsz, align uint64
}

// layout is where an ELF class has its fields (System V gABI, chapter 4 and 5).
type layout struct {
	order                             byteOrder
	wide                              bool
	phoff, shoff, phnum, shnum        uint64 // in the file's header; e_shstrndx follows e_shnum
	programSize, sectionSize          uint64
	shAddr, shOffset, shSize, shAlign uint64 // in a section's header
}

func layoutOf(elf []byte) (l layout, err error) {
	const headerSize = 64
	if len(elf) < headerSize || !bytes.HasPrefix(elf, []byte("\x7fELF")) {
		return l, errors.New("no ELF file")
	}
	l = layout{binary.LittleEndian, false, 28, 32, 44, 48, 32, 40, 12, 16, 20, 32}
	if elf[4] == 2 {
		l = layout{binary.LittleEndian, true, 32, 40, 56, 60, 56, 64, 16, 24, 32, 48}
	}
	if elf[5] == 2 {
		l.order = binary.BigEndian
	}
	return l, nil
}

// word reads a word of the class.
func (l *layout) word(b []byte, at uint64) uint64 {
	if l.wide {
		return l.order.Uint64(b[at:])
	}
	return uint64(l.order.Uint32(b[at:]))
}

func (l *layout) put(b []byte, at, v uint64) {
	if l.wide {
		l.order.PutUint64(b[at:], v)
	} else {
		l.order.PutUint32(b[at:], uint32(v))
	}
}

func (l *layout) appendProgram(b []byte, p *program) []byte {
	o := l.order
	b = o.AppendUint32(b, p.kind)
	if l.wide {
		b = o.AppendUint32(b, p.flags)
		for _, v := range []uint64{p.offset, p.vaddr, p.paddr, p.filesz, p.memsz, p.align} {
			b = o.AppendUint64(b, v)
		}
		return b
	}
	for _, v := range []uint64{p.offset, p.vaddr, p.paddr, p.filesz, p.memsz, uint64(p.flags), p.align} {
		b = o.AppendUint32(b, uint32(v))
	}
	return b
}

func (l *layout) readProgram(b []byte) (p program) {
	p.kind = l.order.Uint32(b)
	fields := []*uint64{&p.offset, &p.vaddr, &p.paddr, &p.filesz, &p.memsz, new(uint64), &p.align}
	at, size := uint64(4), uint64(4)
	if l.wide {
		p.flags = l.order.Uint32(b[4:])
		fields, at, size = append(fields[:5], &p.align), 8, 8
	} else {
		p.flags = l.order.Uint32(b[24:])
	}
	for i, v := range fields {
		*v = l.word(b, at+uint64(i)*size)
	}
	return p
}

// parse reads the headers of a file.
func parse(elf []byte) (*file, error) {
	l, err := layoutOf(elf)
	if err != nil {
		return nil, err
	}
	f := &file{bytes: elf, layout: l}
	headers, err := f.table(l.phoff, l.phnum, l.programSize)
	if err != nil || len(headers) == 0 {
		return nil, errors.Join(err, errors.New("the file is not linked: it has no program headers"))
	}
	for len(headers) > 0 {
		f.program = append(f.program, l.readProgram(headers))
		headers = headers[l.programSize:]
	}
	if first, _ := f.loaded(); first.kind != ptLoad {
		return nil, errors.New("no segment is loaded")
	}
	return f, f.readSections()
}

// table is an array of headers: where it is and how long, the file's header says.
func (f *file) table(offset, count, size uint64) ([]byte, error) {
	at, n := f.layout.word(f.bytes, offset), uint64(f.layout.order.Uint16(f.bytes[count:]))*size
	if at > uint64(len(f.bytes)) || n > uint64(len(f.bytes))-at {
		return nil, errors.New("the file is cut short: headers lie behind its end")
	}
	return f.bytes[at : at+n], nil
}

// readSections reads the headers of sections and their names.
func (f *file) readSections() (err error) {
	l := &f.layout
	if f.sectionHeaders, err = f.table(l.shoff, l.shnum, l.sectionSize); err != nil {
		return err
	}
	f.namesIndex = int(l.order.Uint16(f.bytes[l.shnum+2:]))
	if uint64(f.namesIndex+1)*l.sectionSize > uint64(len(f.sectionHeaders)) {
		return nil
	}
	header := f.sectionHeaders[uint64(f.namesIndex)*l.sectionSize:]
	at, size := l.word(header, l.shOffset), l.word(header, l.shSize)
	if at > uint64(len(f.bytes)) || size > uint64(len(f.bytes))-at {
		return errors.New("the file is cut short: the names of sections lie behind its end")
	}
	f.names = f.bytes[at : at+size]
	return nil
}
