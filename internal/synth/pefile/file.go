// Package pefile assembles PE files for tests.
package pefile

import "encoding/binary"

var le = binary.LittleEndian

// Processors, and characteristics of sections.
const (
	X64, ARM64, I386 = 0x8664, 0xaa64, 0x14c

	Code     = 0x6000_0020
	ReadOnly = 0x4000_0040

	// Align is the alignment of sections in memory and in the file.
	Align = 0x1000
)

// Data directories.
const (
	Exports, Imports, Exceptions, Debug = 0, 1, 3, 6
)

// Section is a section. The i-th lies at Align*(i+1), in memory and in the file.
type Section struct {
	Name  string
	Data  []byte
	Flags uint32
}

// File is a PE file: PE32+, but for I386.
type File struct {
	Machine  uint16
	Base     uint64
	Sections []Section
	// Directories are by number: where each begins, as an address relative to the base, and its size.
	Directories map[int][2]uint32
	Symbols     []byte // entries of the COFF symbol table, and the names behind
	SymbolCount int
}

// Bytes is the file.
func (f *File) Bytes() []byte {
	const header = 0x80
	b := make([]byte, header, Align)
	copy(b, "MZ")
	le.PutUint32(b[0x3c:], header)
	b = append(b, "PE\x00\x00"...)
	optional := 112 + 16*8
	if f.Machine == I386 {
		optional = 96 + 16*8
	}
	symbols := uint32(0)
	if f.SymbolCount > 0 {
		symbols = uint32(Align * (len(f.Sections) + 1))
	}
	b = words(b, 2, uint64(f.Machine), uint64(len(f.Sections)))
	b = words(b, 4, 0, uint64(symbols), uint64(f.SymbolCount))
	b = words(b, 2, uint64(optional), 0x22)
	b = append(b, f.optional(optional)...)
	for i, s := range f.Sections {
		name := make([]byte, 8)
		copy(name, s.Name)
		b = append(b, name...)
		at := uint64(Align * (i + 1))
		b = words(b, 4, uint64(len(s.Data)), at, uint64(len(s.Data)), at, 0, 0, 0, uint64(s.Flags))
	}
	for i, s := range f.Sections {
		b = append(append(b, make([]byte, Align*(i+1)-len(b))...), s.Data...)
	}
	if f.SymbolCount > 0 {
		b = append(append(b, make([]byte, int(symbols)-len(b))...), f.Symbols...)
	}
	return b
}

func (f *File) optional(size int) []byte {
	b := make([]byte, size)
	count := 108
	if f.Machine == I386 {
		count = 92
		le.PutUint16(b, 0x10b)
		le.PutUint32(b[28:], uint32(f.Base))
	} else {
		le.PutUint16(b, 0x20b)
		le.PutUint64(b[24:], f.Base)
	}
	le.PutUint32(b[16:], Align) // the entry
	le.PutUint32(b[60:], 0x400) // the headers
	le.PutUint32(b[count:], 16)
	for i, d := range f.Directories {
		le.PutUint32(b[count+4+8*i:], d[0])
		le.PutUint32(b[count+8+8*i:], d[1])
	}
	return b
}

// U32 are words of 32 bits.
func U32(vs ...uint64) []byte { return words(nil, 4, vs...) }

// words appends numbers of a size.
func words(b []byte, size int, vs ...uint64) []byte {
	for _, v := range vs {
		for i := range size {
			b = append(b, byte(v>>(8*i)))
		}
	}
	return b
}
