// Package machofile assembles Mach-O files for tests: load commands from words and names, and
// whole files of x86-64 or another 64-bit processor.
package machofile

import "encoding/binary"

var le = binary.LittleEndian

// U32 are 32-bit words, little-endian.
func U32(vs ...uint32) (b []byte) {
	for _, v := range vs {
		b = le.AppendUint32(b, v)
	}
	return b
}

// U64 are 64-bit words, little-endian.
func U64(vs ...uint64) (b []byte) {
	for _, v := range vs {
		b = le.AppendUint64(b, v)
	}
	return b
}

// Name is a name as load commands have it: 16 bytes, zeros behind it.
func Name(s string) []byte { return append([]byte(s), make([]byte, 16-len(s))...) }

// Command is a load command with its size; the body is what parts are, one after the other, and
// zeros up to a multiple of eight bytes.
func Command(id uint32, parts ...[]byte) []byte {
	var body []byte
	for _, p := range parts {
		body = append(body, p...)
	}
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	return append(U32(id, uint32(8+len(body))), body...)
}

// Values of mach-o/loader.h.
const (
	Magic64 = 0xfeed_facf
	Execute = 2 // a file type

	LCSegment64 = 0x19
	LCSymtab    = 0x2
	LCDysymtab  = 0xb
	LCUUID      = 0x1b
	LCDyldInfo  = 0x22

	CPUTypeX86_64 = 0x0100_0007
	CPUTypeARM64  = 0x0100_000c

	Read, Write, Exec = 1, 2, 4

	PureInstructions = 0x8000_0000 // a section's flag
)

const reqDyld = 0x8000_0000

// Header64 is a mach header of 64 bits, before its load commands.
func Header64(processor, subtype, typ uint32, count int, commands []byte, flags uint32) []byte {
	return append(U32(Magic64, processor, subtype, typ, uint32(count), uint32(len(commands)), flags, 0), commands...)
}

// File is a file under construction: one __TEXT segment at Base with the sections that a test
// gives it, one __DATA segment, and __LINKEDIT.
type File struct {
	CPU     uint32 // 0: x86-64
	Type    uint32 // 0: an executable
	Flags   uint32
	Text    []Section
	Data    []Section
	Symbols []Symbol
	// Extra are further load commands, Count how many.
	Extra []byte
	Count int
	// Linkedit is what further load commands refer to.
	Linkedit []Table
}

// Section is a section of a File. Index is its reserved1.
type Section struct {
	Name         string
	Data         []byte
	Flags, Index uint32
}

// Symbol is an entry of the symbol table.
type Symbol struct {
	Name  string
	Type  uint8
	Sect  uint8
	Desc  uint16
	Value uint64
}

// Table is a load command with the offset and the size of its data in __LINKEDIT.
type Table struct {
	Command uint32
	Data    []byte
}

// Addresses: of the mach header, and of the first section of text and of data.
const (
	Page       = 0x1000
	Base       = 0x1_0000_0000
	TextAt     = Base + Page
	DataAt     = Base + 2*Page
	linkeditAt = Base + 3*Page
)

// Code is a section of n bytes of instructions, all zero.
func Code(name string, n int) Section {
	return Section{Name: name, Data: make([]byte, n), Flags: PureInstructions}
}

// UUID is LC_UUID with sixteen equal bytes.
func UUID(b byte) []byte {
	id := make([]byte, 16)
	for i := range id {
		id[i] = b
	}
	return Command(LCUUID, id)
}

// segment is LC_SEGMENT_64 with sections one after the other from firstAt on, in a file where
// offsets are addresses without Base.
func segment(name string, addr, size uint64, prot uint32, firstAt uint64, sections []Section) []byte {
	b := append(U64(addr, size, addr-Base, size), U32(prot, prot, uint32(len(sections)), 0)...)
	for _, s := range sections {
		b = append(append(b, Name(s.Name)...), Name(name)...)
		b = append(b, U64(firstAt, uint64(len(s.Data)))...)
		b = append(b, U32(uint32(firstAt-Base), 0, 0, 0, s.Flags, s.Index, 0, 0)...)
		firstAt += uint64(len(s.Data))
	}
	return Command(LCSegment64, Name(name), b)
}

// Bytes lays the file out: a page of headers, one of text, one of data, then __LINKEDIT.
func (f *File) Bytes() []byte {
	cmds := Command(LCSegment64, Name("__PAGEZERO"), U64(0, Base, 0, 0), U32(0, 0, 0, 0))
	cmds = append(cmds, segment("__TEXT", Base, 2*Page, Read|Exec, TextAt, f.Text)...)
	cmds = append(cmds, segment("__DATA", DataAt, Page, Read|Write, DataAt, f.Data)...)
	var edit []byte
	put := func(data []byte) uint32 {
		edit = append(edit, data...)
		return uint32(linkeditAt - Base + len(edit) - len(data))
	}
	n := 4 + f.Count
	if len(f.Symbols) > 0 {
		syms, strs := f.symtab()
		cmds = append(cmds, Command(LCSymtab, U32(put(syms), uint32(len(f.Symbols)), put(strs), uint32(len(strs))))...)
		n++
	}
	for _, t := range f.Linkedit {
		cmds = append(cmds, t.bytes(put(t.Data))...)
		n++
	}
	cmds = append(cmds, segment("__LINKEDIT", linkeditAt, uint64(len(edit)), Read, 0, nil)...)
	return f.join(append(cmds, f.Extra...), n, edit)
}

// bytes is the load command of a table at an offset.
func (t *Table) bytes(at uint32) []byte {
	size := uint32(len(t.Data))
	switch t.Command {
	case LCDysymtab: // the indirect symbol table; one symbol is defined
		return Command(t.Command, U32(0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0), U32(at, size/4, 0, 0, 0, 0))
	case LCDyldInfo: // the rebase program
		return Command(t.Command, U32(at, size), make([]byte, 32))
	case LCDyldInfo | reqDyld: // the bind program
		return Command(t.Command, U32(0, 0, at, size), make([]byte, 24))
	}
	return Command(t.Command, U32(at, size))
}

func (f *File) join(cmds []byte, n int, edit []byte) []byte {
	processor, typ := f.CPU, f.Type
	if processor == 0 {
		processor = CPUTypeX86_64
	}
	if typ == 0 {
		typ = Execute
	}
	out := Header64(processor, 3, typ, n, cmds, f.Flags)
	out = append(out, make([]byte, Page-len(out))...)
	for _, sections := range [][]Section{f.Text, f.Data} {
		start := len(out)
		for _, s := range sections {
			out = append(out, s.Data...)
		}
		out = append(out, make([]byte, start+Page-len(out))...)
	}
	return append(out, edit...)
}

func (f *File) symtab() (syms, strs []byte) {
	strs = []byte{0}
	for _, s := range f.Symbols {
		syms = append(syms, U32(uint32(len(strs)))...)
		syms = append(syms, s.Type, s.Sect)
		syms = append(le.AppendUint16(syms, s.Desc), U64(s.Value)...)
		strs = append(append(strs, s.Name...), 0)
	}
	return syms, strs
}

// Universal joins files as lipo does.
func Universal(files ...[]byte) []byte {
	const magic = 0xcafe_babe
	be := binary.BigEndian
	out := be.AppendUint32(be.AppendUint32(nil, magic), uint32(len(files)))
	at := uint32(Page)
	for _, f := range files {
		out = append(out, make([]byte, 8)...)
		out = be.AppendUint32(be.AppendUint32(be.AppendUint32(out, at), uint32(len(f))), 12)
		at += uint32(len(f)+Page-1) &^ (Page - 1)
	}
	for _, f := range files {
		out = append(out, make([]byte, -len(out)&(Page-1))...)
		out = append(out, f...)
	}
	return out
}
