package cfi

import (
	"encoding/binary"
	"math/bits"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Pointer encodings: LSB Core, "DWARF Exception Header Encoding". The low four
// bits are the format, the next three what is added, the last one indirection.
const (
	encAbsPtr  = 0x00
	encULEB    = 0x01
	encUData2  = 0x02
	encUData4  = 0x03
	encUData8  = 0x04
	encSigned  = 0x08 // a signed address
	encSLEB    = 0x09
	encSData2  = 0x0a
	encSData4  = 0x0b
	encSData8  = 0x0c
	encFormat  = 0x0f
	encPCRel   = 0x10
	encTextRel = 0x20
	encDataRel = 0x30
	encFuncRel = 0x40
	encAligned = 0x50
	encBase    = 0x70
	encInd     = 0x80
	encOmit    = 0xff
)

// section is bytes of an image at an image address, with encoded pointers in them.
type section struct {
	img  *image.Image
	arch *cpu.Arch
	data []byte
	addr uint64
	// dataBase is what DW_EH_PE_datarel is relative to, 0 for the image's GOT.
	dataBase uint64
	// slots maps the register numbers of the section.
	slots *slots
}

// reader reads the section's bytes from off up to end.
func (s *section) reader(off, end uint64) bin.Reader {
	return bin.NewAt(s.data[:min(end, uint64(len(s.data)))], off, s.arch.BigEndian)
}

// word decodes the four bytes at the start of b.
func (s *section) word(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if s.arch.BigEndian {
		v = bits.ReverseBytes32(v)
	}
	return v
}

// pointer reads an encoded pointer. size is that of an address; fn is the
// function's start, for DW_EH_PE_funcrel. A stored 0 is a null pointer whatever
// it is relative to, as in libgcc. It reports false for encodings that do not
// exist and for words that the file does not have.
func (s *section) pointer(r *bin.Reader, enc uint8, size int, fn uint64) (uint64, bool) {
	if enc == encOmit {
		return 0, false
	}
	if enc&encBase == encAligned {
		r.Skip(-(s.addr + uint64(r.Offset())) & uint64(size-1))
		enc = enc & encInd
	}
	at := s.addr + uint64(r.Offset())
	v, ok := number(r, enc&encFormat, size)
	if !ok || v == 0 {
		return 0, ok
	}
	switch enc & encBase {
	case 0:
	case encPCRel:
		v += at
	case encTextRel:
		v += sectionAddr(s.img, ".text")
	case encDataRel:
		v += s.gotBase()
	case encFuncRel:
		v += fn
	default:
		return 0, false
	}
	v &= s.arch.AddrMask()
	if enc&encInd != 0 {
		return s.img.Uint(v, size)
	}
	return v, true
}

// gotBase is the base of data-relative pointers. In .eh_frame that is the global
// offset table, where DT_PLTGOT points (libgcc's unwind-dw2-fde-dip.c).
func (s *section) gotBase() uint64 {
	if s.dataBase != 0 {
		return s.dataBase
	}
	return sectionAddr(s.img, ".got.plt", ".got")
}

// sectionAddr is the address of the first of the named sections that there is.
func sectionAddr(img *image.Image, names ...string) uint64 {
	for _, n := range names {
		if s, ok := img.Sections.Named(n); ok {
			return s.Addr
		}
	}
	return 0
}

// number reads a number in a pointer format. Signed ones are sign-extended.
func number(r *bin.Reader, format uint8, size int) (uint64, bool) {
	switch format {
	case encAbsPtr:
		return r.Uint(size), true
	case encULEB:
		return r.ULEB(), true
	case encUData2:
		return uint64(r.U16()), true
	case encUData4:
		return uint64(r.U32()), true
	case encUData8, encSData8:
		return r.U64(), true
	case encSigned:
		return uint64(r.Int(size)), true
	case encSLEB:
		return uint64(r.SLEB()), true
	case encSData2:
		return uint64(int16(r.U16())), true
	case encSData4:
		return uint64(int32(r.U32())), true
	}
	return 0, false
}
