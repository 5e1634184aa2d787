// Package macho opens Mach-O files as images: executables, dynamic libraries, bundles and
// kernel extensions of macOS and iOS, one processor's or several processors' in one file.
//
//	universal file ─ CPU, UUID ─► Mach-O ─ load commands ─► segments, sections
//	                                                    └─► __LINKEDIT: symbols, exports, imports,
//	                                                        where functions start
//	UUID ─► dSYM bundle ─► symbols that were stripped, DWARF
//
// Nothing is read before it is asked for but the load commands. Every number in a file is a
// claim: tables are cut to what the file holds.
//
// An executable segment is shown in pieces: only what sections with instructions cover is
// executable in the Image, so that strings and unwind tables in __TEXT are not taken for
// code. Where no section says that it has instructions, the whole segment is executable.
//
// Names of symbols are those of the source: without the underscore that the C compiler puts
// before them. Sections are found by ELF's names (".eh_frame" is __eh_frame), and by their own.
//
// Specifications: mach-o/loader.h, nlist.h, fat.h, fixup-chains.h of Apple's cctools and dyld.
package macho

import (
	"encoding/binary"

	"github.com/backsight/backsight/image"
)

// Format describes this package to image.Open.
func Format() image.Format {
	return image.Format{Name: "macho", Sniff: sniff, Open: open, BuildID: uuidOf}
}

// uuidOf is the UUID of a file, of a universal one the first file's.
func uuidOf(in *image.File) []byte {
	f, _, err := choose(in, image.Options{})
	if err != nil {
		return nil
	}
	return f.uuid
}

// sniff knows a Mach-O file of either byte order, and a universal one. A Java class begins
// with the same four bytes as a universal file; what follows is its version, 45 or more.
func sniff(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	switch binary.BigEndian.Uint32(head) {
	case fatMagic, fatMagic64:
		return binary.BigEndian.Uint32(head[4:]) < maxSlices
	}
	_, _, ok := ident(head)
	return ok
}

// ident reads the magic number: what it says of widths and byte order.
func ident(head []byte) (wide, big, ok bool) {
	if len(head) < 4 {
		return false, false, false
	}
	switch m := binary.BigEndian.Uint32(head); m {
	case magic32, magic64:
		return m == magic64, true, true
	}
	m := binary.LittleEndian.Uint32(head)
	return m == magic64, false, m == magic32 || m == magic64
}

func open(in *image.File, opt image.Options) (*image.Image, error) {
	f, others, err := choose(in, opt)
	if err != nil {
		return nil, err
	}
	if why := f.refusal(); why != "" {
		return nil, f.errorf(12, "%s", why)
	}
	img, err := newImage(f, in, opt)
	if err != nil {
		return nil, err
	}
	img.Slices = others
	return img, nil
}

// newImage makes the Image of a file whose load commands have been read.
func newImage(f *file, in *image.File, opt image.Options) (*image.Image, error) {
	arch, ok := opt.Archs.ByMachO(f.cpu)
	if !ok || arch.BigEndian != f.big {
		return nil, f.errorf(4, "unsupported processor: cputype %#x, subtype %#x, big-endian %t", uint32(f.cpu), f.subtype, f.big)
	}
	h := image.Header{
		Path: in.Name, Arch: arch, BuildID: f.uuid, Entry: f.entry(arch), Issues: f.issues,
		Relocatable: f.flags&mhPIE != 0 || f.typ != mhExecute,
		System:      "darwin",
		SwappedEH:   f.cpu == cpuTypeI386,
	}
	h.Segments = f.loaded()
	if len(h.Segments) == 0 {
		return nil, f.errorf(f.head, "nothing in this file is loaded: it has no segments")
	}
	if f.place == nil { // by their addresses, segments share nothing
		h.Issues = append(h.Issues, dropAliases(f.path, len(f.data), h.Segments)...)
	}
	if r, ok := f.sectionNamed("__unwind_info"); ok {
		h.Tables = append(h.Tables, image.Table{Kind: image.CompactUnwind, Range: image.Range{Addr: r.addr, Size: r.size}, Base: f.textAddr()})
	}
	c := &container{main: f, in: in, opt: opt}
	img := image.New(h, c)
	c.img = img
	return img, nil
}

// cpuTypeI386 is the processor whose __eh_frame numbers ESP and EBP the other way round than
// DWARF does everywhere else (LLVM's X86RegisterInfo.td, DwarfFlavour::X86_32_DarwinEH).
const cpuTypeI386 = 7
