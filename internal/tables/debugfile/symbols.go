package debugfile

import (
	"github.com/backsight/backsight/tables"
)

// What st_other says of MIPS code of mode 1, and e_flags of the kind of it (MIPS supplement;
// binutils, include/elf/mips.h).
const (
	otherMIPS16    = 0xf0
	otherMicroMIPS = 0x80
	flagMicroMIPS  = 0x02000000
	machineMIPS    = 8
	machineARM     = 40
)

// symbols adds the symbol table: where functions begin, in order of address.
func (f *file) symbols(p *tables.Program) {
	names := []byte{0}
	w := file{arch: f.arch, order: f.order}
	w.symbol(0, 0, 0, 0, 0, 0)
	locals := uint32(1)
	for _, global := range []bool{false, true} { // local symbols come first
		for i := range p.Functions {
			fn := &p.Functions[i]
			index, ok := f.sectionOf(fn.Start)
			if (fn.Name != "") != global || !ok {
				continue
			}
			info := byte(functionType)
			if global {
				info |= bindGlobal
			} else {
				locals++
			}
			value, other := f.moded(fn)
			w.symbol(uint32(len(names)), value, fn.End-fn.Start, info, other, index)
			names = append(append(names, fn.Symbol()...), 0)
		}
	}
	entry, align := uint64(16), uint64(4)
	if f.wide() {
		entry, align = 24, 8
	}
	f.sections = append(f.sections,
		section{name: ".symtab", typ: typeSymtab, link: uint32(len(f.sections) + 1), info: locals, entry: entry, pad: align, data: w.out},
		section{name: ".strtab", typ: typeStrtab, pad: 1, data: names})
}

// sectionOf is the index of the section that holds an address.
func (f *file) sectionOf(addr uint64) (uint16, bool) {
	for i := range f.sections {
		s := &f.sections[i]
		if s.typ == typeNobits && addr-s.addr < s.size && i < shndxReserved {
			return uint16(i), true
		}
	}
	return 0, false
}

// moded is a function's address as symbols have it, and st_other: ARM marks the mode in bit 0 of
// the address, MIPS in st_other.
func (f *file) moded(fn *tables.Function) (value uint64, other byte) {
	switch {
	case fn.Mode == 0:
	case f.of.Machine == machineARM:
		return fn.Start | 1, 0
	case f.of.Machine == machineMIPS && f.of.Flags&flagMicroMIPS != 0:
		return fn.Start, otherMicroMIPS
	case f.of.Machine == machineMIPS:
		return fn.Start, otherMIPS16
	}
	return fn.Start, 0
}

// symbol writes a symbol.
func (f *file) symbol(name uint32, value, size uint64, info, other byte, index uint16) {
	f.u32(name)
	if f.wide() {
		f.out = append(f.out, info, other)
		f.u16(index)
		f.word(value)
		f.word(size)
		return
	}
	f.word(value)
	f.word(size)
	f.out = append(f.out, info, other)
	f.u16(index)
}
