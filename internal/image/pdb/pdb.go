// Package pdb opens program databases: names of functions, lines, and inlined calls of Windows' binaries.
//
//	streams ─► info     GUID and age: which build the file is of
//	       ├─► DBI      object files (modules), which code each contributed, the binary's sections
//	       ├─► publics  names that the linker saw
//	       ├─► a module: procedures, inline sites, lines, files
//	       └─► IPI, TPI  names of inlined functions and of their classes
//
// Frames of 32-bit x86 come as programs (FRAMEDATA), which Breakpad's STACK WIN records are made of.
//
// A database is found for a binary that is at hand (Named), or stands in for one that is not (Format): a file without code.
// Image addresses are relative virtual addresses then. Where a tool moved functions after linking, addresses of the binary are translated to those that the
// database speaks of, and back (omap.go). Modules are read as their addresses are asked for.
//
// Specifications: LLVM, "The PDB File Format"; microsoft-pdb's cvinfo.h; LLVM, CodeViewSymbols.def and CodeViewTypes.def.
package pdb

import (
	"bytes"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/memo"
)

// Format describes this package to image.Open.
func Format() image.Format {
	return image.Format{Name: "pdb", Sniff: sniff, Open: open, BuildID: buildIDOf}
}

func sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Streams with a number of their own.
const infoStream, typeStream, dbiStream, idStream = 1, 2, 3, 4

// infoHeader is the size of the info stream's header: version, time, age, GUID.
const infoHeader = 28

// processors are the machines of the DBI stream that have an ABI here, by the numbers of COFF.
func processors() map[uint16]string {
	return map[uint16]string{0x14c: "i386", 0x1c4: "arm", 0x8664: "x86_64", 0xaa64: "aarch64"}
}

// file is an open database.
type file struct {
	*streams
	id   []byte // GUID and age, as a CodeView record has them
	arch *cpu.Arch
	base uint64 // added to relative virtual addresses
	dbi
	names   []byte // of source files
	read    memo.Table[int, *module]
	publics publics
	types   types
}

// newFile reads what tells whose database a file is, and where its modules are.
func newFile(in *image.File) (*file, error) {
	s, err := readStreams(in)
	if err != nil {
		return nil, err
	}
	f := &file{streams: s}
	info, raw := s.stream(infoStream), s.stream(dbiStream)
	if len(info) < infoHeader || len(raw) < dbiHeader {
		return nil, in.Errorf(0, "a program database without debug information")
	}
	if err := f.readDBI(raw); err != nil {
		return nil, err
	}
	// The age of the DBI stream is what linkers write into the binary; tools that add sources to the database count on in the other.
	f.id = slices.Concat(info[12:infoHeader], raw[8:12])
	f.names = namesOf(s.stream(named(info, "/names")))
	f.read.Bound, f.read.Weigh = keptOfModules, func(m *module) int { return len(m.data) }
	f.types.room = budget.New("bytes of names of types", namesFloor, uint64(len(in.Data)))
	return f, nil
}

// keptOfModules is how many bytes of modules are kept. A large program's module has some 100 KB.
const keptOfModules = 8 << 20

// namesFloor is what names of inlined functions may cost; those of real programs share few scopes.
const namesFloor = 1 << 20

// namesOf are the strings of a table of names behind its header.
func namesOf(table []byte) []byte {
	r := bin.New(table, false)
	r.Skip(8) // signature, version of the hash
	return r.Bytes(uint64(r.U32()))
}

// text is the string at a place.
func text(data []byte, at uint64) string {
	const longest = 1 << 14
	data = data[min(at, uint64(len(data))):]
	data, _, _ = bytes.Cut(data[:min(len(data), longest)], []byte{0})
	return string(data)
}

// buildIDOf is what a binary's CodeView record has, nil where a file is broken.
func buildIDOf(in *image.File) []byte {
	f, err := newFile(in)
	if err != nil {
		return nil
	}
	return f.id
}

// open opens a database as a binary without code.
func open(in *image.File, opt image.Options) (*image.Image, error) {
	f, err := newFile(in)
	if err != nil {
		return nil, err
	}
	h := image.Header{Path: in.Name, Arch: opt.Arch, System: "windows", BuildID: f.id, Relocatable: true, Segments: f.segments()}
	if h.Arch == nil {
		a, ok := opt.Archs.ByName(processors()[f.machine], "", false)
		if !ok {
			return nil, in.Errorf(0, "unsupported processor: machine %#x", f.machine)
		}
		h.Arch = a
	}
	f.arch = h.Arch
	_, end := h.Segments.Bounds()
	h.Tables = f.tables(end)
	return image.New(h, hollow{f}), nil
}

// segments are the binary's sections, without bytes.
func (f *file) segments() (segs image.Segments) {
	for _, s := range f.moved {
		segs = append(segs, image.Segment{Addr: uint64(s.rva), Size: uint64(s.size), Read: true, Exec: s.code})
	}
	return segs
}

// hollow is a database that stands in for its binary.
type hollow struct{ *file }

// Hollow tells that the file has no code.
func (hollow) Hollow() bool { return true }

// Files are the files that the container reads.
func (h hollow) Files() []*image.File { return []*image.File{h.in} }

// Close implements image.Container.
func (h hollow) Close() error { return h.in.Close() }
