// Package segment adds a table to a linked ELF file, as a segment that is loaded with the program
// and as a section, .backsight.
//
//	file as it was │ table │ section names │ section headers
//	               └─ new segment, loaded
//
// The segment needs a program header. It takes the place of one that no loader reads, if there is one. Else the
// headers move, and programs of operating systems find them in memory, at the distance from the first segment that
// the file states: into what linkers leave unused between segments or, where nothing is left, behind the file's end. Then
// the new segment holds them, and lies as far behind the first segment in memory
// as in the file, which grows by as much as the program's zeroed data. Firmware reads no program
// headers; its table may lie anywhere, where a symbol or the user says.
package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

const (
	ptLoad = 1
	ptPhdr = 6
	ptNull = 0

	pfRead     = 4
	shProgbits = 1
	shNobits   = 8
	shfAlloc   = 2

	// smallPage is the smallest page of the processors that there are tables for.
	smallPage = 1 << 12
	alignment = 16
	maxPage   = 1 << 16
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
	delta, page := first.vaddr-first.offset, f.page()
	if first.vaddr < first.offset {
		return nil, errors.New("the first segment lies below its place in the file: give the table's address")
	}
	size, start := uint64(len(table)), roundUp(uint64(len(f.bytes)), alignment)
	at := program{kind: ptLoad, flags: pfRead, offset: start, vaddr: roundUp(end, page) + start%page, filesz: size, memsz: size, align: page}
	headers := uint64(len(f.program)+1) * f.layout.programSize
	if i := f.spare(); i >= 0 {
		f.program = slices.Delete(f.program, i, i+1)
		f.add(at)
		return f.write(f.layout.word(f.bytes, f.layout.phoff), start, at.vaddr, table), nil
	}
	if offset, ok := f.room(delta, headers); ok {
		f.moveHeaders(offset, delta, headers)
		f.add(at)
		return f.write(offset, start, at.vaddr, table), nil
	}
	at.vaddr = roundUp(max(end, delta+uint64(len(f.bytes))), page)
	at.offset = at.vaddr - delta
	if at.offset < uint64(len(f.bytes)) || at.offset > maxFile || at.vaddr < end {
		return nil, errors.New("the program's segments are too far apart")
	}
	inside := roundUp(size, alignment)
	f.moveHeaders(at.offset+inside, delta, headers)
	at.filesz, at.memsz = inside+headers, inside+headers
	f.add(at)
	return f.write(at.offset+inside, at.offset, at.vaddr, table), nil
}

// page is what segments are aligned to.
func (f *file) page() uint64 {
	page := uint64(smallPage)
	for _, p := range f.program {
		if p.kind == ptLoad && p.align&(p.align-1) == 0 && p.align <= maxPage {
			page = max(page, p.align)
		}
	}
	return page
}

// spare is a program header that loaders do not read, -1 for none: an empty one, or what MIPS and RISC-V have to say about
// registers and extensions.
func (f *file) spare() int {
	const mips, riscv, low, options, attributes = 8, 243, 0x70000000, 0x70000002, 0x70000003
	machine := f.layout.order.Uint16(f.bytes[18:])
	return slices.IndexFunc(f.program, func(p program) bool {
		return p.kind == ptNull || machine == mips && (p.kind == low || p.kind == options) || machine == riscv && p.kind == attributes
	})
}

// moveHeaders lets the program header that says where program headers are say the new place.
func (f *file) moveHeaders(offset, delta, size uint64) {
	for i := range f.program {
		if p := &f.program[i]; p.kind == ptPhdr {
			p.offset, p.vaddr, p.paddr, p.filesz, p.memsz = offset, offset+delta, offset+delta, size, size
		}
	}
}

// room finds so many unused bytes behind a segment that lies delta above its place in the file, before the next one's page, and
// lets the segment have them.
func (f *file) room(delta, size uint64) (offset uint64, ok bool) {
	limit := uint64(len(f.bytes)) + delta
	for i := len(f.program) - 1; i >= 0; i-- {
		p := &f.program[i]
		if p.kind != ptLoad {
			continue
		}
		end := p.offset + p.filesz
		offset, next := roundUp(end, alignment), p.vaddr&^(f.page()-1)
		if p.vaddr-p.offset == delta && p.filesz == p.memsz && offset+size+delta <= limit && f.unused(end, offset+size) {
			p.filesz = offset + size - p.offset
			p.memsz = p.filesz
			return offset, true
		}
		limit = min(limit, next)
	}
	return 0, false
}

// unused tells whether nothing lies in a part of the file: no segment, no section, no headers, and no byte but zeros.
func (f *file) unused(lo, hi uint64) bool {
	l := &f.layout
	free := func(at, size uint64) bool { return size == 0 || hi <= at || at+size <= lo }
	for i := range f.program {
		if p := &f.program[i]; !free(p.offset, p.filesz) {
			return false
		}
	}
	for h := f.sectionHeaders; len(h) > 0; h = h[l.sectionSize:] {
		if l.order.Uint32(h[4:]) != shNobits && !free(l.word(h, l.shOffset), l.word(h, l.shSize)) {
			return false
		}
	}
	return free(l.word(f.bytes, l.shoff), uint64(len(f.sectionHeaders))) && len(bytes.Trim(f.bytes[lo:hi], "\x00")) == 0
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
	start := roundUp(offset+uint64(len(f.program)+1)*f.layout.programSize, alignment)
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
	p.paddr = cmp.Or(p.paddr, p.vaddr)
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
	out := append(make([]byte, 0, start+size), f.bytes...)
	out = append(append(out, make([]byte, start-uint64(len(out)))...), table...)
	var moved []byte
	for i := range f.program {
		moved = f.layout.appendProgram(moved, &f.program[i])
	}
	if headers < uint64(len(out)) {
		copy(out[headers:], moved)
	} else {
		out = append(append(out, make([]byte, headers-uint64(len(out)))...), moved...)
	}
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
