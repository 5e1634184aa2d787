// Package elf opens ELF files as images: executables, shared libraries, kernels,
// firmware. It decides which bytes are loaded where, and where symbols and
// sections come from:
//
//	the file ─ .gnu_debuglink, build ID ─► separate debug file
//	         └ .gnu_debugdata (xz) ──────► the symbols that were stripped
//
// Nothing is read before it is asked for. The file is mapped, headers are decoded
// in place, names are compared in place; opening costs the same for 1 kB and 1 GB.
// Every number in a file is taken as a claim: tables are cut to what the file
// holds, and decompression stops at limits that do not depend on the file.
//
// Specifications: System V gABI chapters 4 and 5; the processor supplements of
// MIPS, ARM (AAELF32) and RISC-V for symbols' ISA modes; binutils' and GDB's
// manuals for .gnu_debuglink, .gnu_debugdata and build IDs.
package elf

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/backsight/backsight/image"
)

// Format describes this package to image.Open.
func Format() image.Format {
	return image.Format{Name: "elf", Sniff: sniff, Open: open, BuildID: buildID}
}

func sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// buildID is that of a file which is an image or a debug file.
func buildID(in *image.File) []byte {
	f, err := newFile(in)
	if err != nil || f.typ != etExec && f.typ != etDyn {
		return nil
	}
	return f.buildID()
}

// Open is image.Open for files that are known to be ELF.
func Open(path string, opt image.Options) (*image.Image, error) {
	return image.Open(path, []image.Format{Format()}, opt)
}

// open reads the headers and makes the Image.
func open(in *image.File, opt image.Options) (*image.Image, error) {
	f, err := newFile(in)
	if err != nil {
		return nil, err
	}
	if err := f.checkType(); err != nil {
		return nil, err
	}
	arch, ok := opt.Archs.ByELF(f.machine, f.class(), f.big, f.flags, f.armProfile())
	if !ok {
		return nil, f.errorf(18, fmt.Sprintf("unsupported processor: e_machine %d, %d-bit, big-endian %t, e_flags %#x",
			f.machine, 8*f.layout.addr, f.big, f.flags))
	}
	h, link := f.readProgramHeaders()
	h.Path, h.Arch = in.Name, arch
	h.OneMode = arch.ELF.ModeFlags != 0 && f.flags&arch.ELF.ModeFlags == 0
	if len(h.Segments) == 0 {
		return nil, f.errorf(f.segments.off, "nothing in this file is loaded: neither segments nor sections")
	}
	c := &container{main: f, in: in, link: link, opt: opt, buildID: h.BuildID}
	c.img = image.New(h, c)
	c.symbols.of, c.symbols.tables = c.img, sync.OnceValue(c.findTables)
	return c.img, nil
}

// checkType refuses ELF files that are not images.
func (f *file) checkType() error {
	switch f.typ {
	case etExec, etDyn:
		return nil
	case etRel:
		return f.errorf(16, "a relocatable object has no addresses yet; link it first")
	case etCore:
		return f.errorf(16, "a core file is a capture, not an executable")
	}
	return f.errorf(16, fmt.Sprintf("ELF type %d is neither an executable nor a shared library", f.typ))
}
