package elf

import (
	"bytes"
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// build describes an ELF file: the ELF header, the program headers, the sections'
// bytes, the section headers. Loaded sections get a PT_LOAD each.
type build struct {
	wide, big    bool
	typ, machine uint16 // 0: ET_EXEC, EM_X86_64 or EM_386
	flags        uint32
	entry        uint64
	secs         []sec
	phdrs        []ph // besides PT_LOAD
	noSections   bool
	noSegments   bool
}

type sec struct {
	name  string
	typ   uint32 // 0: SHT_PROGBITS
	flags uint64
	addr  uint64
	data  []byte
	size  uint64 // in memory; 0: that of data
	link  string
}

// ph is a program header that covers a section.
type ph struct {
	typ uint32
	sec string
}

// buf appends numbers in the file's byte order and class.
type buf struct {
	b         []byte
	wide, big bool
}

func (b *buf) order() binary.AppendByteOrder {
	if b.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (b *buf) u16(vs ...uint16) {
	for _, v := range vs {
		b.b = b.order().AppendUint16(b.b, v)
	}
}

func (b *buf) u32(vs ...uint32) {
	for _, v := range vs {
		b.b = b.order().AppendUint32(b.b, v)
	}
}

func (b *buf) u64(v uint64) { b.b = b.order().AppendUint64(b.b, v) }

// word appends addresses.
func (b *buf) word(vs ...uint64) {
	for _, v := range vs {
		if b.wide {
			b.u64(v)
		} else {
			b.u32(uint32(v))
		}
	}
}

func (e *build) buf() *buf { return &buf{wide: e.wide, big: e.big} }

func (e *build) layout() layout {
	if e.wide {
		return layout64
	}
	return layout32
}

// bytes lays the file out.
func (e *build) bytes() []byte {
	secs := e.withNames()
	offs := make([]uint64, len(secs))
	var loads, body []byte
	phnum := len(e.phdrs)
	for _, s := range secs {
		if s.flags&shfAlloc != 0 && !e.noSegments {
			phnum++
		}
	}
	ehsize := uint64(52)
	if e.wide {
		ehsize = 64
	}
	off := ehsize + uint64(phnum)*e.layout().phdr
	index := map[string]int{}
	for i, s := range secs {
		offs[i], index[s.name] = off, i
		if s.typ != shtNobits {
			body = append(body, s.data...)
			off += uint64(len(s.data))
		}
	}
	for i, s := range secs {
		if s.flags&shfAlloc != 0 && !e.noSegments {
			loads = append(loads, e.phdr(ptLoad, s, offs[i])...)
		}
	}
	for _, p := range e.phdrs {
		i := index[p.sec]
		loads = append(loads, e.phdr(p.typ, secs[i], offs[i])...)
	}
	out := e.header(ehsize, phnum, off, len(secs))
	out = append(append(out, loads...), body...)
	if e.noSections {
		return out
	}
	name := uint32(0)
	for i, s := range secs {
		b := e.buf()
		typ := s.typ
		if typ == 0 && i > 0 {
			typ = 1
		}
		b.u32(name, typ)
		b.word(s.flags, s.addr, offs[i], s.memSize())
		b.u32(uint32(index[s.link]), 0)
		b.word(1, 0)
		out = append(out, b.b...)
		name += uint32(len(s.name)) + 1
	}
	return out
}

// withNames adds the null section and .shstrtab.
func (e *build) withNames() []sec {
	secs := append([]sec{{}}, e.secs...)
	secs = append(secs, sec{name: ".shstrtab", typ: 3})
	var names []byte
	for _, s := range secs {
		names = append(append(names, s.name...), 0)
	}
	secs[len(secs)-1].data = names
	return secs
}

func (s *sec) memSize() uint64 { return max(s.size, uint64(len(s.data))) }

func (e *build) header(ehsize uint64, phnum int, shoff uint64, shnum int) []byte {
	b := e.buf()
	class, data := byte(1), byte(1)
	if e.wide {
		class = 2
	}
	if e.big {
		data = 2
	}
	b.b = append([]byte("\x7fELF"), class, data, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	typ, machine := e.typ, e.machine
	if typ == 0 {
		typ = etExec
	}
	if machine == 0 {
		machine = 3
		if e.wide {
			machine = 62
		}
	}
	b.u16(typ, machine)
	b.u32(1)
	if e.noSections {
		shoff, shnum = 0, 0
	}
	phoff := ehsize
	if phnum == 0 {
		phoff = 0
	}
	b.word(e.entry, phoff, shoff)
	b.u32(e.flags)
	b.u16(uint16(ehsize), uint16(e.layout().phdr), uint16(phnum), uint16(e.layout().shdr), uint16(shnum), uint16(max(shnum-1, 0)))
	return b.b
}

func (e *build) phdr(typ uint32, s sec, off uint64) []byte {
	b := e.buf()
	flags := uint32(pfR)
	if s.flags&shfWrite != 0 {
		flags |= pfW
	}
	if s.flags&shfExecinstr != 0 {
		flags |= pfX
	}
	b.u32(typ)
	if e.wide {
		b.u32(flags)
	}
	b.word(off, s.addr, s.addr, uint64(len(s.data)), s.memSize())
	if !e.wide {
		b.u32(flags)
	}
	b.word(1)
	return b.b
}

// tsym is a symbol by name.
type tsym struct {
	name        string
	value, size uint64
	info, other uint8
	shndx       uint16
}

const (
	localFunc  = stbLocal<<4 | sttFunc
	globalFunc = stbGlobal<<4 | sttFunc
	weakFunc   = stbWeak<<4 | sttFunc
	localLabel = stbLocal << 4
	asmLabel   = stbGlobal << 4
	object     = stbGlobal<<4 | sttObject
)

// symtab makes the sections .symtab and .strtab, or others of the given names.
func (e *build) symtab(syms, strs string, list ...tsym) []sec {
	b, str := e.buf(), []byte{0}
	for _, s := range append([]tsym{{}}, list...) {
		name := uint32(0)
		if s.name != "" {
			name = uint32(len(str))
			str = append(append(str, s.name...), 0)
		}
		b.u32(name)
		if e.wide {
			b.b = append(b.b, s.info, s.other)
			b.u16(s.shndx)
			b.word(s.value, s.size)
			continue
		}
		b.word(s.value, s.size)
		b.b = append(b.b, s.info, s.other)
		b.u16(s.shndx)
	}
	return []sec{{name: syms, typ: 2, data: b.b, link: strs}, {name: strs, typ: 3, data: str}}
}

// text is section 1 of most tests: n bytes of code at addr.
func text(addr uint64, n int) sec {
	return sec{name: ".text", flags: shfAlloc | shfExecinstr, addr: addr, data: bytes.Repeat([]byte{0x90}, n)}
}

func (e *build) note(id []byte) []byte {
	b := e.buf()
	b.u32(4, uint32(len(id)), ntGNUBuildID)
	b.b = append(append(b.b, "GNU\x00"...), id...)
	return b.b
}

// testArchs describe just what choosing an ABI needs, so that these tests do not
// depend on any decoder.
func testArchs() cpu.Set {
	var set cpu.Set
	add := func(name, abi string, big bool, size int, isa bool, m cpu.ELFMatch) {
		set = append(set, &cpu.Arch{Name: name, ABI: abi, BigEndian: big, AddrSize: size, ELF: m,
			CodeAddresses: cpu.CodeAddresses{ISABit: isa, ModeOnly: m.Profile == 'M'}})
	}
	for _, big := range []bool{false, true} {
		add("mips", "o32", big, 4, true, cpu.ELFMatch{Machine: 8, Class: 1})
		add("mips", "n32", big, 4, true, cpu.ELFMatch{Machine: 8, Class: 1, Mask: 0x20, Flags: 0x20})
		add("mips64", "n64", big, 8, true, cpu.ELFMatch{Machine: 8, Class: 2})
	}
	add("arm", "", false, 4, true, cpu.ELFMatch{Machine: 40, Class: 1})
	add("arm", "m", false, 4, true, cpu.ELFMatch{Machine: 40, Class: 1, Profile: 'M'})
	add("aarch64", "", false, 8, false, cpu.ELFMatch{Machine: 183, Class: 2})
	add("riscv32", "", false, 4, false, cpu.ELFMatch{Machine: 243, Class: 1})
	add("riscv64", "", false, 8, false, cpu.ELFMatch{Machine: 243, Class: 2})
	add("x86_64", "", false, 8, false, cpu.ELFMatch{Machine: 62, Class: 2})
	add("i386", "", false, 4, false, cpu.ELFMatch{Machine: 3, Class: 1})
	return set
}

func options() image.Options { return image.Options{Archs: testArchs()} }
