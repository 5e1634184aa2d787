package elf

import (
	"fmt"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// LinkInfo is what the kernel and the dynamic linker of a program go by.
type LinkInfo struct {
	// Interp is the program interpreter that the file asks for, "" for none.
	Interp string
	// Dynamic is the dynamic section, PHdr the program headers (what AT_PHDR points
	// to), in image addresses. Absent ones have Size 0.
	Dynamic, PHdr image.Range
	// relro is what nobody writes once it is relocated.
	relro image.Range
}

// LinkInfoOf returns what an image's program headers tell; nothing for an image of
// another format.
func LinkInfoOf(img *image.Image) LinkInfo {
	if c, ok := image.ContainerAs[*container](img.Container()); ok {
		return c.link
	}
	return LinkInfo{}
}

// readProgramHeaders collects what the program headers say: for everyone, and for
// those who know ELF.
func (f *file) readProgramHeaders() (h image.Header, link LinkInfo) {
	h = image.Header{Entry: f.entry, Relocatable: f.typ == etDyn}
	table := func(k image.TableKind, r image.Range) {
		if r.Size != 0 && h.Table(k).Size == 0 {
			h.Tables = append(h.Tables, image.Table{Kind: k, Range: r})
		}
	}
	for i := range f.segments.n {
		p := f.segments.at(i)
		r := image.Range{Addr: p.vaddr, Size: p.memsz}
		switch p.typ {
		case ptLoad:
			h.Segments = append(h.Segments, segment(p, f.segments.bytes(p)))
		case ptDynamic:
			link.Dynamic = r
		case ptPhdr:
			link.PHdr = r
		case ptInterp:
			link.Interp, h.Interpreted = string(nameAt(f.segments.bytes(p), 0)), true
		case ptGNURelro:
			link.relro = r
		case ptGNUEHFrame:
			table(image.EHFrameHdr, r)
		case ptGNUSFrame:
			table(image.SFrame, r)
		case ptARMExidx:
			if f.machine == emARM { // the number is one of those that each processor gives a meaning of its own
				table(image.ExIdx, r)
			}
		}
	}
	if len(h.Segments) == 0 {
		h.Segments = f.sections.loaded()
	}
	if link.PHdr.Size == 0 {
		link.PHdr = f.segments.mapped(h.Segments)
	}
	if f.debugOnly() {
		dropData(h.Segments)
	}
	if at, err := dropAliases(h.Segments, uint64(len(f.data))); err != nil {
		h.Issues = append(h.Issues, fmt.Sprintf("%s: segment at %#x: %v; it and those behind it are not used", f.path, at, err))
	}
	h.BuildID = f.buildID()
	return h, link
}

// SegmentsOf are the loaded segments of an ELF file of any type and processor that have bytes,
// by what the file says of itself only. FileSize is what the header states; there are fewer
// bytes in Data where the file is cut short.
func SegmentsOf(in *image.File) (list []FileSegment, err error) {
	f, err := newFile(in)
	if err != nil {
		return nil, err
	}
	for i := range f.segments.n {
		if p := f.segments.at(i); p.typ == ptLoad && p.filesz > 0 {
			list = append(list, FileSegment{p.vaddr, p.filesz, f.segments.bytes(p)})
		}
	}
	return list, nil
}

// FileSegment is what a file holds of a loaded segment. Addr is an image address.
type FileSegment struct {
	Addr, FileSize uint64
	Data           []byte
}

// segment is what a program header loads of its bytes.
func segment(p phdr, data []byte) image.Segment {
	return image.Segment{
		Addr: p.vaddr, Size: p.memsz, FileOff: p.off,
		Data: data[:bin.Limit(p.memsz, len(data))],
		Read: p.flags&pfR != 0, Write: p.flags&pfW != 0, Exec: p.flags&pfX != 0,
	}
}

// loaded stands in for the segments of a file without program headers,
// as boot loaders' linker scripts make them.
func (h *sectionHeaders) loaded() (segs []image.Segment) {
	for i := range h.n {
		s := h.at(i)
		if s.flags&shfAlloc == 0 || s.size == 0 {
			continue
		}
		segs = append(segs, image.Segment{
			Addr: s.addr, Size: s.size, FileOff: s.off, Data: h.bytes(s),
			Read: true, Write: s.flags&shfWrite != 0, Exec: s.flags&shfExecinstr != 0,
		})
	}
	return segs
}

// debugOnly tells a separate debug file given as the image: eu-strip -f leaves
// the program headers as they were, so the file ranges of the segments hold
// symbols and DWARF, not code. Its .text has no bytes (SHT_NOBITS).
func (f *file) debugOnly() bool {
	s, ok := f.sections.find(".text")
	return ok && s.typ == shtNobits
}

// aliases is how often a byte of the file may be loaded on average. Firmware maps its
// code twice, cached and uncached; segments of most files share a page at most.
const aliases = 2

// dropAliases takes the bytes from segments that show the same part of the file again
// and again: a file of 450 kB with 2,000 executable segments over all of it would be
// 900 MB of code. at is the first of them, size that of the file.
func dropAliases(segs []image.Segment, size uint64) (at uint64, err error) {
	loaded := budget.New("bytes loaded from the file", 0, aliases*size)
	for i := range segs {
		if loaded.Draw(len(segs[i].Data)) {
			continue
		}
		if err == nil {
			at, err = segs[i].Addr, loaded.Err()
		}
		segs[i].Data = nil
	}
	return at, err
}

func dropData(segs []image.Segment) {
	for i := range segs {
		segs[i].Data = nil
	}
}

// buildID finds NT_GNU_BUILD_ID: in the segments of notes, else, for debug
// files whose segments are empty, in the section.
//
// All of them together are no longer than the file: headers that name the same notes
// again and again are not followed.
func (f *file) buildID() []byte {
	notes := budget.New("bytes of notes", 0, uint64(len(f.data)))
	for i := range f.segments.n {
		p := f.segments.at(i)
		if p.typ != ptNote {
			continue
		}
		data := f.segments.bytes(p)
		if !notes.Draw(len(data)) {
			break
		}
		if id := gnuBuildID(data, f.big); id != nil {
			return id
		}
	}
	s, ok := f.sections.find(".note.gnu.build-id")
	if !ok {
		return nil
	}
	return gnuBuildID(f.sections.bytes(s), f.big)
}

// maxBuildID bounds a build ID; SHA-1 has 20 bytes, ld --build-id=0x… takes any.
const maxBuildID = 64

// gnuBuildID walks notes (gABI ch. 5, "Note Section"). Names and descriptors are
// padded to 4 bytes in build ID notes, whatever p_align says; a property note
// (padded to 8) that comes first has sizes that fit both.
func gnuBuildID(notes []byte, bigEndian bool) []byte {
	r := bin.New(notes, bigEndian)
	for r.Len() >= 12 && r.Err() == nil {
		namesz, descsz, typ := r.U32(), r.U32(), r.U32()
		name := r.Bytes(uint64(namesz))
		r.Align(4)
		desc := r.Bytes(uint64(descsz))
		if r.Err() == nil && typ == ntGNUBuildID && string(name) == "GNU\x00" && descsz <= maxBuildID && descsz > 0 {
			return append([]byte(nil), desc...)
		}
		if r.Len() > 0 {
			r.Align(4)
		}
	}
	return nil
}
