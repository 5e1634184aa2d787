package hostile

import (
	"bytes"
	"encoding/binary"
)

// le is the byte order of all files here.
var le = binary.LittleEndian

// text is the image address of the code of the files here.
const text = 0x401000

// segment is a program header; the bytes that it shows are those of the file.
type segment struct {
	typ, flags            uint32
	off, addr, size, room uint64
}

// section is a section header and its bytes.
type section struct {
	name            string
	typ             uint32
	flags, addr     uint64
	link, entrySize uint64
	data            []byte
}

// The numbers of the gABI that are used here.
const (
	etExec, etCore     = 2, 4
	emX86_64           = 62
	ptLoad, ptNote     = 1, 4
	ptDynamic          = 2
	shtProgbits        = 1
	shtSymtab          = 2
	shtStrtab          = 3
	shfAlloc, shfExec  = 2, 4
	headerSize         = 64
	phdrSize, shdrSize = 56, 64
)

// image is a file of 64 bits for x86-64: code at text, in the first section, the other
// sections and segments behind it.
func image(code []byte, sections []section, more ...segment) []byte {
	segments := append([]segment{{ptLoad, 5, 0x1000, text, uint64(len(code)), uint64(len(code))}}, more...)
	sections = append([]section{{}, {name: ".text", typ: shtProgbits, flags: shfAlloc | shfExec, addr: text, data: code}}, sections...)
	names := section{name: ".shstrtab", typ: shtStrtab, data: []byte{0}}
	sections = append(sections, names)
	begin := codeAt(len(more))
	segments[0].off = begin

	body := make([]byte, begin)
	var strs bytes.Buffer
	strs.WriteByte(0)
	nameAt := make([]int, len(sections))
	for i := range sections {
		nameAt[i] = strs.Len()
		strs.WriteString(sections[i].name + "\x00")
	}
	sections[len(sections)-1].data = strs.Bytes()
	var headers []byte
	for i, s := range sections {
		headers = words(headers, 4, uint64(nameAt[i]), uint64(s.typ))
		headers = words(headers, 8, s.flags, s.addr, uint64(len(body)), uint64(len(s.data)))
		headers = words(headers, 4, s.link, 0)
		headers = words(headers, 8, 1, s.entrySize)
		body = append(body, s.data...)
	}
	copy(body, header(etExec, len(segments), uint64(len(body)), len(sections)))
	copy(body[headerSize:], programHeaders(segments))
	return append(body, headers...)
}

// codeAt is the offset of the code in an image with so many more segments: the page
// behind the program headers.
func codeAt(more int) uint64 { return uint64(headerSize+phdrSize*(more+1)+0xfff) &^ 0xfff }

// header is an ELF header; the program headers follow it.
func header(typ uint64, phnum int, shoff uint64, shnum int) []byte {
	h := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	h = words(h, 2, typ, emX86_64)
	h = words(h, 4, 1)
	h = words(h, 8, text, headerSize, shoff)
	h = words(h, 4, 0)
	return words(h, 2, headerSize, phdrSize, uint64(min(phnum, 0xffff)), shdrSize, uint64(shnum), uint64(max(0, shnum-1)))
}

func programHeaders(list []segment) (b []byte) {
	for _, s := range list {
		b = words(b, 4, uint64(s.typ), uint64(s.flags))
		b = words(b, 8, s.off, s.addr, 0, s.size, s.room, 1) // p_paddr is 0 in a process
	}
	return b
}

// words appends numbers of size bytes.
func words(b []byte, size int, list ...uint64) []byte {
	for _, v := range list {
		b = append(b, le.AppendUint64(nil, v)[:size]...)
	}
	return b
}

// note is a note of a core file.
func note(typ uint64, desc []byte) []byte {
	b := words(nil, 4, 5, uint64(len(desc)), typ)
	return append(append(b, "CORE\x00\x00\x00\x00"...), desc...)
}
