package pdb

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/internal/bin"
)

const (
	// dbiHeader is the size of the DBI stream's header.
	dbiHeader = 64
	// sectionSize is the size of IMAGE_SECTION_HEADER, moduleHeader that of a module's entry without its names.
	sectionSize, moduleHeader = 40, 64
	// Places of streams in the optional debug header.
	omapToSource, omapFromSource, sectionHeaders, frameData, sourceHeaders = 3, 4, 5, 9, 10
)

// dbi is what the DBI stream says (LLVM, "The PDB DBI (Debug Info) Stream").
type dbi struct {
	machine       uint16
	publicsStream int
	symbolsStream int
	modules       []moduleInfo
	sections      []section // of the source
	moved         []section // of the binary
	toSource      omap
	fromSource    omap
	contributions []contribution // of code, sorted by address
	frames        []byte         // FRAMEDATA, sorted by address
}

// moduleInfo is where a module's symbols and lines lie.
type moduleInfo struct {
	stream       int
	symbols, c11 uint32 // bytes
	c13          uint32
}

// section is a section of the binary, by the number from 1 on that symbols give.
type section struct {
	rva, size uint32
	code      bool
}

// contribution is code of a module.
type contribution struct {
	rva, size uint32
	module    uint16
}

// readDBI reads the stream: its parts follow the header in the order of their sizes there, but for the last two.
func (f *file) readDBI(raw []byte) error {
	r := bin.New(raw, false)
	r.Skip(16) // signature, version, age, global symbols, build
	f.publicsStream = int(r.U16())
	r.Skip(2)
	f.symbolsStream = int(r.U16())
	r.Skip(2)
	modules, contributions := r.U32(), r.U32()
	between := uint64(r.U32()) + uint64(r.U32()) + uint64(r.U32()) // map of sections, files, type servers
	r.Skip(4)
	header, editing := r.U32(), r.U32()
	r.Skip(2)
	f.machine = r.U16()
	r.Skip(4)
	f.readModules(r.Bytes(uint64(modules)))
	code := r.Bytes(uint64(contributions))
	r.Skip(between + uint64(editing))
	extra := extraStreams(r.Bytes(uint64(header)))
	if r.Err() != nil || extra[sectionHeaders] == noStream {
		return f.in.Errorf(0, "the database does not say where its binary's sections lie")
	}
	f.toSource, f.fromSource = f.stream(extra[omapToSource]), f.stream(extra[omapFromSource])
	f.moved = readSections(f.stream(extra[sectionHeaders]))
	f.sections = f.moved
	if source := readSections(f.stream(extra[sourceHeaders])); source != nil && f.toSource != nil && f.fromSource != nil {
		f.sections = source
	} else {
		f.toSource, f.fromSource = nil, nil
	}
	f.readContributions(code)
	f.frames = f.stream(extra[frameData])
	return nil
}

// extraStreams are the numbers of streams in the optional debug header.
func extraStreams(header []byte) (numbers [sourceHeaders + 1]int) {
	r := bin.New(header, false)
	for i := range numbers {
		numbers[i] = noStream
		if r.Len() >= 2 {
			numbers[i] = int(r.U16())
		}
	}
	return numbers
}

// readSections reads the headers of a binary's sections.
func readSections(headers []byte) (list []section) {
	const execute = 0x2000_0000
	for r := bin.New(headers, false); r.Len() >= sectionSize; {
		r.Skip(8) // name
		s := section{size: r.U32(), rva: r.U32()}
		r.Skip(20)
		s.code = r.U32()&execute != 0
		list = append(list, s)
	}
	return list
}

// readModules lists the modules. A stream is of one module.
func (f *file) readModules(list []byte) {
	seen := make(map[int]bool)
	for r := bin.New(list, false); r.Err() == nil && r.Len() >= moduleHeader; r.Align(4) {
		r.Skip(34) // its first contribution, flags
		m := moduleInfo{stream: int(r.U16()), symbols: r.U32(), c11: r.U32(), c13: r.U32()}
		r.Skip(16)
		r.CBytes() // the module's name, the object file's
		r.CBytes()
		if seen[m.stream] {
			m.stream = noStream
		}
		seen[m.stream] = true
		f.modules = append(f.modules, m)
	}
}

// readContributions lists what modules contributed to sections of code.
func (f *file) readContributions(list []byte) {
	const version2, size, size2 = 0xeffe0000 + 20140516, 28, 32
	r := bin.New(list, false)
	step := uint64(size)
	if r.U32() == version2 {
		step = size2
	}
	for r.Len() >= int(step) {
		e := bin.New(r.Bytes(step), false)
		number := e.U16()
		e.Skip(2)
		offset, length := e.U32(), e.U32()
		e.Skip(4)
		if rva, ok := f.rva(number, offset); ok && f.sections[number-1].code {
			f.contributions = append(f.contributions, contribution{rva, length, e.U16()})
		}
	}
	slices.SortStableFunc(f.contributions, func(a, b contribution) int { return cmp.Compare(a.rva, b.rva) })
}

// rva is the relative virtual address of a place in a section of the source.
func (f *file) rva(number uint16, offset uint32) (uint32, bool) {
	if number == 0 || int(number) > len(f.sections) || offset >= f.sections[number-1].size {
		return 0, false
	}
	rva := f.sections[number-1].rva
	return rva + offset, rva+offset >= rva
}

// contribution is the one that has an address, nil for none.
func (f *file) contribution(rva uint32) *contribution {
	i := last(f.contributions, rva, func(c contribution) uint32 { return c.rva })
	if i < 0 || rva-f.contributions[i].rva >= f.contributions[i].size {
		return nil
	}
	return &f.contributions[i]
}

// last is the index of what begins last at an address or before, by a sorted list; of several that begin at the address, of the
// first. -1: none does.
func last[T any](list []T, rva uint32, begin func(T) uint32) int {
	i, found := slices.BinarySearchFunc(list, rva, func(e T, rva uint32) int { return cmp.Compare(begin(e), rva) })
	if !found {
		i--
	}
	return i
}
