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
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// Options say how to open a file.
type Options struct {
	// Archs are the processors to choose from.
	Archs cpu.Set
	// DebugDirs are the roots of separate debug files, usually /usr/lib/debug.
	DebugDirs []string
	// NoDebugFiles keeps to the file itself.
	NoDebugFiles bool
}

// Open maps the file and reads its headers. The error is an *image.Error or of
// package os. The Image must be closed, and must not be used afterwards. Like any
// program that maps files, it relies on nobody cutting the file short meanwhile.
func Open(path string, opt Options) (*image.Image, error) {
	data, release, err := image.Map(path, magic)
	if err != nil {
		return nil, err
	}
	img, err := open(path, path, data, release, opt)
	if err != nil {
		release()
		return nil, err
	}
	return img, nil
}

// Parse is Open for bytes that are already in memory, such as a vDSO. Separate
// debug files are found by build ID only, since name need not be a path. data
// must not change while the Image is in use.
func Parse(name string, data []byte, opt Options) (*image.Image, error) {
	return open(name, "", data, func() error { return nil }, opt)
}

// open makes the Image; where is the path to search debug files beside, or "".
func open(path, where string, data []byte, release func() error, opt Options) (*image.Image, error) {
	f, err := newFile(path, data)
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
	h := f.imageHeader()
	h.Path, h.Arch = path, arch
	h.OneMode = arch.ModeFlags != 0 && f.flags&arch.ModeFlags == 0
	if len(h.Segments) == 0 {
		return nil, f.errorf(f.phoff, "nothing in this file is loaded: neither segments nor sections")
	}
	c := &container{main: f, release: release, opt: opt, where: where, buildID: h.BuildID}
	img := image.New(h, c)
	c.img = img
	return img, nil
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

func (f *file) class() uint8 {
	if f.wide {
		return 2
	}
	return 1
}
