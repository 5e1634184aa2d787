// Package segment adds a table to a linked ELF file, as a segment that is loaded with the program
// and as a section, .backsight.
//
//	file as it was │ … │ program headers │ table │ section names │ section headers
//	                    └── new segment, loaded ──┘
//
// A linked file has no room for another program header, so that they move behind the file's end.
// Programs of operating systems find them in memory, at the distance from the first segment that
// the file states: the new segment holds them, and lies as far behind the first segment in memory
// as in the file. The file grows by as much as the program's zeroed data. Firmware reads no program
// headers; its table may lie anywhere, where a symbol or the user says.
package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	ptLoad = 1
	ptPhdr = 6
	// Type is the type of the program header that says where a table is: in the range for
	// operating systems, "bsD1".
	Type = 0x62734431

	pfRead     = 4
	shProgbits = 1
	shfAlloc   = 2

	// pageSize is the largest page of the processors that there are tables for.
	pageSize  = 1 << 16
	alignment = 16
	// maxFile bounds the new file.
	maxFile = 1 << 31
)

// name of the section.
const name = ".backsight"

// Add returns an ELF file with a table added. at is the address of the table; nil: behind the
// program. The error says what kind of file it cannot be added to.
func Add(elf, table []byte, at *uint64) ([]byte, error) {
	f, err := parse(elf)
	if err != nil {
		return nil, err
	}
	if at == nil {
		return f.behind(table)
	}
	return f.placed(table, *at)
}

// behind adds the table behind the program, for a loader that looks for program headers in
// memory.
func (f *file) behind(table []byte) ([]byte, error) {
	first, end := f.loaded()
	delta := first.vaddr - first.offset
	if first.vaddr < first.offset {
		return nil, errors.New("the first segment lies below its place in the file: give the table's address")
	}
	vaddr := roundUp(max(end, delta+uint64(len(f.bytes))), pageSize)
	offset := vaddr - delta
	headers := uint64(len(f.program)+2) * f.layout.programSize
	start := roundUp(headers, alignment)
	if offset < uint64(len(f.bytes)) || offset > maxFile || vaddr < end {
		return nil, errors.New("the program's segments are too far apart")
	}
	for i := range f.program {
		if p := &f.program[i]; p.kind == ptPhdr {
			p.offset, p.vaddr, p.paddr, p.filesz, p.memsz = offset, vaddr, vaddr, headers, headers
		}
	}
	size := start + uint64(len(table))
	f.add(program{kind: ptLoad, flags: pfRead, offset: offset, vaddr: vaddr, paddr: vaddr, filesz: size, memsz: size, align: pageSize})
	return f.write(offset, offset+start, vaddr+start, table), nil
}

// placed adds the table at an address, for a loader that copies segments out of the file.
func (f *file) placed(table []byte, at uint64) ([]byte, error) {
	end := at + uint64(len(table))
	for _, p := range f.program {
		if p.kind == ptLoad && at < p.paddr+p.filesz && p.paddr < end || p.kind == ptLoad && at < p.vaddr+p.memsz && p.vaddr < end {
			return nil, fmt.Errorf("the table at %#x to %#x overlaps the segment at %#x", at, end, p.vaddr)
		}
	}
	offset := roundUp(uint64(len(f.bytes)), alignment)
	start := roundUp(offset+uint64(len(f.program)+2)*f.layout.programSize, alignment)
	f.add(program{kind: ptLoad, flags: pfRead, offset: start, vaddr: at, paddr: at, filesz: uint64(len(table)), memsz: uint64(len(table)), align: 1})
	return f.write(offset, start, at, table), nil
}

// loaded is the first loaded segment, and where the last one ends in memory.
func (f *file) loaded() (first program, end uint64) {
	for _, p := range f.program {
		if p.kind != ptLoad {
			continue
		}
		if end == 0 {
			first = p
		}
		end = max(end, p.vaddr+p.memsz)
	}
	return first, end
}

// add adds a program header behind the last one of loaded segments, which are in order of
// address.
func (f *file) add(p program) {
	last := 0
	for i := range f.program {
		if f.program[i].kind == ptLoad {
			last = i + 1
		}
	}
	f.program = append(f.program[:last:last], append([]program{p}, f.program[last:]...)...)
}

// write writes the file: program headers at an offset, the table at another.
func (f *file) write(headers, start, vaddr uint64, table []byte) []byte {
	size := uint64(len(table))
	f.program = append(f.program, program{kind: Type, flags: pfRead, offset: start, vaddr: vaddr, paddr: vaddr, filesz: size, memsz: size, align: alignment})
	out := append(make([]byte, 0, start+size), f.bytes...)
	out = append(out, make([]byte, headers-uint64(len(out)))...)
	for i := range f.program {
		out = f.layout.appendProgram(out, &f.program[i])
	}
	out = append(out, make([]byte, start-uint64(len(out)))...)
	out = append(out, table...)
	f.layout.put(out, f.layout.phoff, headers)
	f.layout.order.PutUint16(out[f.layout.phnum:], uint16(len(f.program)))
	return f.sections(out, start, vaddr, size)
}

// sections adds the section, where the file has sections.
func (f *file) sections(out []byte, start, vaddr, size uint64) []byte {
	l := &f.layout
	if f.names == nil {
		return out
	}
	at := uint64(len(out))
	out = append(append(append(out, f.names...), name...), 0)
	grown := uint64(len(out)) - at
	out = append(out, make([]byte, roundUp(uint64(len(out)), 8)-uint64(len(out)))...)
	shoff := uint64(len(out))
	out = append(out, f.sectionHeaders...)
	strings := out[shoff+uint64(f.namesIndex)*l.sectionSize:]
	l.put(strings, l.shOffset, at)
	l.put(strings, l.shSize, grown)
	added := make([]byte, l.sectionSize)
	l.order.PutUint32(added, uint32(len(f.names)))
	l.order.PutUint32(added[4:], shProgbits)
	l.put(added, 8, shfAlloc)
	l.put(added, l.shAddr, vaddr)
	l.put(added, l.shOffset, start)
	l.put(added, l.shSize, size)
	l.put(added, l.shAlign, 1)
	out = append(out, added...)
	l.put(out, l.shoff, shoff)
	l.order.PutUint16(out[l.shnum:], uint16(uint64(len(f.sectionHeaders))/l.sectionSize+1))
	return out
}

func roundUp(v, to uint64) uint64 { return (v + to - 1) &^ (to - 1) }

// byteOrder is that of a file.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}
