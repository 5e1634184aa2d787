// Package pdbfile assembles program databases for tests.
package pdbfile

import "encoding/binary"

var le = binary.LittleEndian

// block is the size of blocks.
const block = 512

// Section is a section of the binary.
type Section struct {
	RVA, Size uint32
	Code      bool
}

// Part is code that a module contributed to a section, whose number counts from 1.
type Part struct {
	Section      uint16
	Offset, Size uint32
}

// Module is an object file's part of the database.
type Module struct {
	Parts   []Part
	Symbols []byte // records
	Lines   []byte // subsections
}

// File is a program database.
type File struct {
	ID       [20]byte // GUID and age
	Machine  uint16
	Sections []Section
	Modules  []Module
	Publics  []byte // records
	Names    []byte // of source files
	IDs      []byte // records of the IPI stream, the first has number 0x1000
	Types    []byte // the same of the TPI stream
	Frames   []byte // FRAMEDATA
	// Moved are the sections of a binary that was rearranged after linking; ToSource and FromSource are pairs of addresses.
	Moved                []Section
	ToSource, FromSource []uint32
	// Scattered: the blocks of a stream do not follow one another.
	Scattered bool
}

// Streams whose numbers are free, behind those with a number of their own.
const namesStream, publicsStream, symbolsStream, headersStream, framesStream = 5, 6, 7, 8, 9
const movedStream, toStream, fromStream, firstModule = 10, 11, 12, 13

// Bytes is the file.
func (f *File) Bytes() []byte {
	streams := [][]byte{nil, f.info(), types(f.Types), f.dbi(), types(f.IDs), f.names(), f.publics(), f.Publics, headers(f.Sections), f.Frames,
		headers(f.Moved), U32(f.ToSource...), U32(f.FromSource...)}
	for _, m := range f.Modules {
		streams = append(streams, Join(U32(4), m.Symbols, m.Lines))
	}
	out := make([]byte, 2*block)
	directory := U32(uint32(len(streams)))
	for _, s := range streams {
		directory = append(directory, U32(uint32(len(s)))...)
	}
	for _, s := range streams {
		out, directory = f.place(out, directory, s)
	}
	var list []byte
	out, list = f.place(out, nil, directory)
	copy(out, "Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00")
	copy(out[32:], U32(block, 1, uint32(len(out)/block), uint32(len(directory)), 0, 1))
	copy(out[block:], list)
	return out
}

// place appends the blocks of a stream, and their numbers to a list.
func (f *File) place(out, list, stream []byte) (file, blocks []byte) {
	for len(stream) > 0 {
		if f.Scattered {
			out = append(out, make([]byte, block)...)
		}
		list = append(list, U32(uint32(len(out)/block))...)
		out = append(out, make([]byte, block)...)
		stream = stream[copy(out[len(out)-block:], stream):]
	}
	return out, list
}

// info is the info stream: one stream has a name.
func (f *File) info() []byte {
	const name = "/names\x00"
	return Join(U32(20000404, 0), f.ID[16:], f.ID[:16], U32(uint32(len(name))), []byte(name), U32(1, 1, 1, 1, 0, 0, namesStream))
}

func (f *File) names() []byte { return Join(U32(0xeffeeffe, 1, uint32(len(f.Names))), f.Names) }

// dbi is the DBI stream.
func (f *File) dbi() []byte {
	var modules, parts []byte
	parts = U32(0xeffe0000 + 19970605)
	for i, m := range f.Modules {
		modules = append(modules, Join(make([]byte, 32), U16(0, uint16(firstModule+i)), U32(uint32(4+len(m.Symbols)), 0, uint32(len(m.Lines))),
			make([]byte, 16), []byte("a.obj\x00a.lib\x00"))...)
		for _, p := range m.Parts {
			parts = append(parts, Join(U16(p.Section, 0), U32(p.Offset, p.Size, 0), U16(uint16(i), 0), U32(0, 0))...)
		}
	}
	none := uint16(0xffff)
	extra := U16(none, none, none, none, none, headersStream, none, none, none, framesStream)
	if f.Moved != nil {
		extra = U16(none, none, none, toStream, fromStream, movedStream, none, none, none, framesStream, headersStream)
	}
	head := Join(U32(0xffffffff, 19990903), f.ID[16:], U16(none, 0, publicsStream, 0, symbolsStream, 0),
		U32(uint32(len(modules)), uint32(len(parts)), 0, 0, 0, 0, uint32(len(extra)), 0), U16(0, f.Machine), U32(0))
	return Join(head, modules, parts, extra)
}

// headers are section headers.
func headers(sections []Section) (b []byte) {
	for _, s := range sections {
		flags := uint32(0x4000_0040)
		if s.Code {
			flags = 0x6000_0020
		}
		b = append(b, Join(make([]byte, 8), U32(s.Size, s.RVA), make([]byte, 20), U32(flags))...)
	}
	return b
}

// publics is the stream that lists where the records of public symbols are.
func (f *File) publics() []byte {
	var places []byte
	for at := 0; at < len(f.Publics); at += 2 + int(le.Uint16(f.Publics[at:])) {
		places = append(places, U32(uint32(at))...)
	}
	return Join(U32(0, uint32(len(places)), 0, 0, 0, 0, 0), places)
}

// types is a stream of types.
func types(records []byte) []byte {
	const head = 56
	return Join(U32(20040203, head, 0x1000, 0x2000, uint32(len(records))), make([]byte, head-20), records)
}

// Record is a record of a symbol or type: its length, its kind, what it has.
func Record(kind uint16, parts ...[]byte) []byte {
	body := Join(parts...)
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	return Join(U16(uint16(2+len(body)), kind), body)
}

// Procedure is the record of a procedure in section 1, and those in it, whose first stands at a place behind the signature.
func Procedure(at, offset, size uint32, name string, inner ...[]byte) []byte {
	const global, end = 0x1110, 0x0006
	body := Join(inner...)
	record := func(last uint32) []byte {
		return Record(global, U32(0, last, 0, size, 0, 0, 0, offset), U16(1), []byte{0}, []byte(name+"\x00"))
	}
	last := 4 + at + uint32(len(record(0))+len(body))
	return Join(record(last), body, Record(end))
}

// Site is the record of an inlined call, and those in it.
func Site(id uint32, annotations []byte, inner ...[]byte) []byte {
	const site, end = 0x114d, 0x114e
	return Join(Record(site, U32(0, 0, id), annotations), Join(inner...), Record(end))
}

// Public is the record of a public symbol.
func Public(section uint16, offset uint32, name string) []byte {
	return Record(0x110e, U32(2, offset), U16(section), []byte(name+"\x00"))
}

// Subsection is a part of a module's lines.
func Subsection(kind uint32, parts ...[]byte) []byte {
	body := Join(parts...)
	b := Join(U32(kind, uint32(len(body))), body)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// Join puts bytes one behind the other.
func Join(parts ...[]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

// U32 are words of 32 bits.
func U32(vs ...uint32) (b []byte) {
	for _, v := range vs {
		b = le.AppendUint32(b, v)
	}
	return b
}

// U16 are words of 16 bits.
func U16(vs ...uint16) (b []byte) {
	for _, v := range vs {
		b = le.AppendUint16(b, v)
	}
	return b
}
