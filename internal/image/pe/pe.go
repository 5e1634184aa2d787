// Package pe opens PE files as images: executables and libraries of Windows, and what UEFI loads.
//
//	DOS header ─► COFF header ─► optional header: where the file is loaded, data directories
//	                         └─► section table    exports, imports, functions (.pdata), CodeView
//
// Image addresses are the file's preferred ones: ImageBase plus a relative virtual address. Nothing is read before it is asked for
// but the headers. Every number in a file is a claim: tables are cut to what the file holds.
//
// Specification: Microsoft, "PE Format".
package pe

import (
	"bytes"
	"encoding/binary"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Format describes this package to image.Open.
func Format() image.Format {
	return image.Format{Name: "pe", Sniff: sniff, Open: open, BuildID: buildIDOf}
}

// lfanew is where the DOS header says where the PE header lies.
const lfanew = 0x3c

// sniff knows a file whose DOS header leads to a PE header.
func sniff(head []byte) bool {
	if len(head) < lfanew+4 || head[0] != 'M' || head[1] != 'Z' {
		return false
	}
	at := uint64(binary.LittleEndian.Uint32(head[lfanew:]))
	return at < uint64(len(head)) && bytes.HasPrefix(head[at:], []byte("PE\x00\x00"))
}

// processors are the values of IMAGE_FILE_MACHINE_… that have an ABI here.
func processors() map[uint16]string {
	return map[uint16]string{0x14c: "i386", 0x1c4: "arm", 0x8664: "x86_64", 0xaa64: "aarch64", 0x5032: "riscv32", 0x5064: "riscv64"}
}

func open(in *image.File, opt image.Options) (*image.Image, error) {
	f, err := parse(in)
	if err != nil {
		return nil, err
	}
	arch, ok := opt.Archs.ByName(processors()[f.machine], "", false)
	if !ok {
		return nil, in.Errorf(f.at+4, "unsupported processor: machine %#x", f.machine)
	}
	h := image.Header{
		Path: in.Name, Arch: arch, System: "windows", BuildID: f.codeViewID(),
		Relocatable: f.characteristics&relocsStripped == 0,
		Segments:    f.segments(),
	}
	if f.entry != 0 {
		h.Entry = f.base + uint64(f.entry)
	}
	if len(h.Segments) == 0 {
		return nil, in.Errorf(f.at, "nothing in this file is loaded: it has no sections")
	}
	h.Tables = f.tables()
	if f.hybrid() {
		h.Issues = append(h.Issues, in.Name+": has code of two processors (ARM64EC); read as "+arch.Name+" alone")
	}
	c := &container{file: in, pe: f, arch: arch}
	c.img = image.New(h, c)
	return c.img, nil
}

// tables are the file's unwind tables.
func (f *file) tables() []image.Table {
	d := f.directory(exceptionDirectory)
	if d.size == 0 {
		return nil
	}
	return []image.Table{{Kind: image.RuntimeFunctions, Range: image.Range{Addr: f.base + uint64(d.rva), Size: uint64(d.size)}, Base: f.base}}
}

// buildIDOf is the build ID of a file, nil where it has none.
func buildIDOf(in *image.File) []byte {
	f, err := parse(in)
	if err != nil {
		return nil
	}
	return f.codeViewID()
}

// codeViewID is what names the build, and the PDB with its symbols: the GUID and the age of the CodeView record, 20 bytes, as
// they lie in the file.
func (f *file) codeViewID() []byte {
	const idSize = 20
	r := f.codeView()
	return r.Bytes(idSize)
}

// codeView is the CodeView record behind its signature; nothing where the file has none.
func (f *file) codeView() bin.Reader {
	const (
		entry    = 28 // bytes of IMAGE_DEBUG_DIRECTORY
		codeView = 2  // IMAGE_DEBUG_TYPE_CODEVIEW
	)
	d := f.directory(debugDirectory)
	r := bin.New(f.bytes(d), false)
	for r.Len() >= entry {
		r.Skip(12) // characteristics, time, version
		typ, _, _, off := r.U32(), r.U32(), r.U32(), r.U32()
		if typ != codeView {
			continue
		}
		record := bin.NewAt(f.in.Data, uint64(off), false)
		if sig := record.Bytes(4); bytes.Equal(sig, []byte("RSDS")) {
			return record
		}
	}
	return bin.Reader{}
}

// CodeView is the path of the file with the symbols where the linker wrote that, "" for none.
func (c *container) CodeView() string {
	r := c.pe.codeView()
	r.Skip(20) // GUID, age
	return text(r.Bytes(uint64(r.Len())))
}

// hybrid tells whether the file has code of ARM64 and of x64: its load configuration names metadata of both.
func (f *file) hybrid() bool {
	const metadata = 0xc8 // CHPEMetadataPointer of IMAGE_LOAD_CONFIG_DIRECTORY64
	r := bin.NewAt(f.bytes(f.directory(loadConfigDirectory)), metadata, false)
	return f.wide && r.U64() != 0
}
