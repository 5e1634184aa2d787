package elf

import (
	"bytes"
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// symtab is one symbol table with its strings: of file f, for the image img,
// whose debug file f may be.
type symtab struct {
	img  *image.Image
	f    *file
	syms []byte
	str  []byte
	// versions are those of the symbols of .dynsym; nil where they have none.
	versions []byte
	// exports: the file has no other table, and this one names what it exports.
	exports bool
	hash    gnuHash // of .dynsym
}

// sym is Elf32_Sym or Elf64_Sym.
type sym struct {
	name        uint32
	info, other uint8
	shndx       uint16
	value, size uint64
}

func (s *sym) typ() uint8  { return s.info & 0xf }
func (s *sym) bind() uint8 { return s.info >> 4 }

// endFrom is where a symbol at an address ends: a size that goes beyond the last address ends there.
func (s *sym) endFrom(addr uint64) uint64 {
	if end := addr + s.size; end >= addr {
		return end
	}
	return ^uint64(0)
}

func (t *symtab) len() int {
	if t.f == nil {
		return 0
	}
	return len(t.syms) / int(t.f.layout.sym)
}

// at decodes entry i < t.len().
func (t *symtab) at(i int) (s sym) {
	if t.f.wide && !t.f.big { // most files, of up to a million symbols
		b := (*[24]byte)(t.syms[24*i:])
		s.name, s.info, s.other, s.shndx = binary.LittleEndian.Uint32(b[:]), b[4], b[5], binary.LittleEndian.Uint16(b[6:])
		s.value, s.size = binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
		return s
	}
	size, order := int(t.f.layout.sym), bin.Order(t.f.big)
	b := t.syms[i*size:][:size]
	s.name = order.U32(b)
	if t.f.wide {
		s.info, s.other, s.shndx = b[4], b[5], order.U16(b[6:])
		s.value, s.size = order.U64(b[8:]), order.U64(b[16:])
		return s
	}
	s.value, s.size = uint64(order.U32(b[4:])), uint64(order.U32(b[8:]))
	s.info, s.other, s.shndx = b[12], b[13], order.U16(b[14:])
	return s
}

// sectionTable finds the table in section .symtab or .dynsym and its strings in
// the section that sh_link names.
func (f *file) sectionTable(name string) symtab {
	s, ok := f.sections.find(name)
	if !ok || uint64(s.link) >= uint64(f.sections.n) {
		return symtab{}
	}
	return symtab{f: f, syms: f.plain(s), str: f.plain(f.sections.at(int(s.link)))}
}

// plain is what a section holds, decompressed: symbol tables of Solaris and of
// objcopy --compress-debug-sections on odd inputs may be compressed.
func (f *file) plain(s shdr) []byte {
	data := f.sections.bytes(s)
	if s.flags&shfCompressed != 0 {
		data, _ = f.decompress(data)
	}
	return data
}

// isFunction tells whether a symbol names code: functions, and, in executable
// sections, labels of assembly files that state no type. $a, $t, $d, $x mark
// where code and data begin (AAELF32 §5.5.5, RISC-V psABI "Mapping Symbol") and
// .L… are assembler-local; neither is a name.
func (t *symtab) isFunction(s *sym) bool {
	if s.shndx == shnUndef {
		return false
	}
	switch s.typ() {
	case sttFunc, sttIFunc:
		return true
	case sttARMFunc:
		return t.f.machine == emARM
	case sttNotype:
		return t.inCode(s) && t.isLabel(s)
	}
	return false
}

func (t *symtab) isLabel(s *sym) bool {
	b := t.str[bin.Limit(uint64(s.name), len(t.str)):]
	return t.hasName(s) && b[0] != '$' && !bytes.HasPrefix(b, []byte(".L"))
}

// hasName is false for the nameless functions that some linkers leave (Thumb
// stubs of GNU ld).
func (t *symtab) hasName(s *sym) bool {
	return uint64(s.name) < uint64(len(t.str)) && t.str[s.name] != 0
}

// inCode tells whether an untyped symbol lies in an executable section, or, where
// no section is told, segment. Absolute symbols lie nowhere.
func (t *symtab) inCode(s *sym) bool {
	if t.f.sections.n == 0 || s.shndx == shnXIndex {
		return t.img.Segments.Executable(s.value)
	}
	return int(s.shndx) < t.f.sections.n && s.shndx < shnLoReserve && t.f.sections.at(int(s.shndx)).flags&shfExecinstr != 0
}

// code splits a function symbol's value into address and ISA mode. ARM and MIPS
// keep the mode in bit 0; MIPS tables may have it in st_other only.
func (t *symtab) code(s *sym) (addr uint64, mode cpu.Mode) {
	arch := t.img.Arch
	if !arch.ISABit {
		return s.value & arch.AddrMask(), 0
	}
	addr, mode = arch.SplitCode(s.value)
	switch t.f.machine {
	case emMIPS:
		if s.other&stoMIPSISAMask == stoMicroMIPS || s.other&stoMIPS16Mask == stoMIPS16 {
			mode = 1
		}
	case emARM:
		if s.typ() == sttARMFunc {
			mode = 1
		}
	}
	return addr, mode
}

// modeKnown is false for untyped labels of ARM code: bit 0 of theirs is not the
// mode (AAELF32 §5.5.3), and only the mapping symbols around them would tell.
func (t *symtab) modeKnown(s *sym) bool {
	return s.typ() != sttNotype || t.f.machine != emARM || t.img.Arch.ModeOnly
}

// name builds the symbol's name, without its version.
func (t *symtab) name(s *sym) string {
	name, _ := t.bareName(s)
	return string(name)
}
