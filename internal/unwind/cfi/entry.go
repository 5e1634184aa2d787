package cfi

import (
	"sync/atomic"

	"github.com/backsight/backsight/internal/bin"
)

// frames is a section of call frame information: .eh_frame (LSB Core, "The
// .eh_frame section") or .debug_frame (DWARF 5 §6.4.1). They differ in how a CIE
// is told from an FDE, how an FDE names its CIE, and in the pointer encodings.
type frames struct {
	section
	eh bool
	// open: the section's end is not known; what follows the terminator is not
	// call frame information.
	open bool
	cies *cieCache
}

// cieCache keeps the first few CIEs that were read, and drops none: most sections have one or
// two CIEs that all FDEs refer to. The bound holds for any file.
type cieCache [8]atomic.Pointer[cie]

// entry is the head that CIEs and FDEs have in common. All offsets are offsets
// in the section.
type entry struct {
	off, end uint64
	cie      bool
	cieOff   uint64 // of an FDE
	wide     bool   // 64-bit DWARF
	r        bin.Reader
}

// cie is a Common Information Entry.
type cie struct {
	off       uint64
	codeAlign uint64
	dataAlign int64
	ra        uint64 // the return address column, a DWARF register number
	addrSize  int
	fdeEnc    uint8
	lsdaEnc   uint8 // of the pointer to a function's data for exceptions
	sized     bool  // augmentation "z": FDEs have augmentation data
	signal    bool  // "S"
	selector  int   // size of the segment selectors of .debug_frame version 4
	code      span
	// first is the row that code makes, once it was executed.
	first atomic.Pointer[firstRow]
}

// fde is a Frame Description Entry: the program of one function. Image addresses.
type fde struct {
	start, size uint64
	cie         *cie
	augmented   span // augmentation data
	code        span
}

func (f *fde) covers(pc uint64) bool { return pc-f.start < f.size }

// span is a piece of a section, in offsets.
type span struct{ off, end uint64 }

// readEntry reads the head of the entry at off. It reports false where there is
// none: after the end and where the length is damaged. A terminator has
// end == off+4.
func (s *frames) readEntry(off uint64, e *entry) bool {
	e.off, e.cie, e.wide = off, false, false
	e.r = s.reader(off, uint64(len(s.data)))
	length := uint64(e.r.U32())
	if length == 0xffff_ffff {
		e.wide = true
		length = e.r.U64()
	}
	body := uint64(e.r.Offset())
	if e.r.Err() != nil || length > uint64(len(s.data))-body {
		return false
	}
	if e.end = body + length; length == 0 {
		return true
	}
	e.r = s.reader(body, e.end)
	s.identify(e, body)
	return e.r.Err() == nil
}

// identify reads the CIE ID or CIE pointer. In .eh_frame it has 4 bytes in
// entries of either length.
func (s *frames) identify(e *entry, at uint64) {
	switch {
	case s.eh:
		id := e.r.U32()
		e.cie = id == 0
		e.cieOff = at - uint64(id)
	case e.wide:
		e.cieOff = e.r.U64()
		e.cie = e.cieOff == 0xffff_ffff_ffff_ffff
	default:
		e.cieOff = uint64(e.r.U32())
		e.cie = e.cieOff == 0xffff_ffff
	}
}

// cieAt is the CIE at off, nil where there is none. The CIEs that are asked for first are kept;
// others are read each time.
func (s *frames) cieAt(off uint64) *cie {
	for i := range s.cies {
		c := s.cies[i].Load()
		if c == nil {
			if c = s.readCIE(off); c != nil {
				s.cies[i].CompareAndSwap(nil, c)
			}
			return c
		}
		if c.off == off {
			return c
		}
	}
	return s.readCIE(off)
}

// maxAugmentation bounds the augmentation string and its NUL: a CIE is read again
// for each of its FDEs. Known strings have up to seven letters.
const maxAugmentation = 64

// readCIE reads the CIE at off.
func (s *frames) readCIE(off uint64) *cie {
	var e entry
	if !s.readEntry(off, &e) || !e.cie {
		return nil
	}
	r := &e.r
	version := r.U8()
	letters := s.reader(uint64(r.Offset()), min(e.end, uint64(r.Offset())+maxAugmentation))
	aug := letters.CBytes()
	if letters.Err() != nil {
		return nil
	}
	r.Seek(uint64(letters.Offset()))
	c := &cie{off: off, addrSize: s.arch.AddrSize, lsdaEnc: encOmit}
	if string(aug) == "eh" { // GCC 2: a pointer to exception tables
		r.Skip(uint64(c.addrSize))
	}
	switch version {
	case 1, 3:
	case 4:
		c.addrSize, c.selector = int(r.U8()), int(r.U8())
	default:
		return nil
	}
	c.codeAlign, c.dataAlign = r.ULEB(), r.SLEB()
	if version == 1 {
		c.ra = uint64(r.U8())
	} else {
		c.ra = r.ULEB()
	}
	if !s.augment(r, c, aug) || c.addrSize != 4 && c.addrSize != 8 || c.selector > 8 || r.Err() != nil {
		return nil
	}
	c.code = span{uint64(r.Offset()), e.end}
	return c
}

// augment reads the augmentation data of a CIE. "armcc+" is what ARM's compiler
// writes; it changes nothing. Without a leading z the size of anything unknown
// is unknown too; with it, what follows an unknown letter is skipped.
func (s *frames) augment(r *bin.Reader, c *cie, aug []byte) bool {
	if len(aug) == 0 || aug[0] != 'z' {
		return len(aug) == 0 || string(aug) == "eh" || string(aug) == "armcc+"
	}
	c.sized = true
	n := r.ULEB()
	end := uint64(r.Offset()) + n
	if n > uint64(r.Len()) {
		return false
	}
letters:
	for _, l := range aug[1:] {
		switch l {
		case 'R':
			c.fdeEnc = r.U8()
		case 'L':
			c.lsdaEnc = r.U8()
		case 'P':
			if !s.skipPointer(r, c.addrSize) {
				return false
			}
		case 'S':
			c.signal = true
		case 'B', 'G': // AArch64: signed with key B; stack frames are tagged
		default:
			break letters
		}
	}
	r.Seek(end)
	return true
}

// skipPointer skips an encoding and the pointer that it encodes. The pointer is
// not followed.
func (s *frames) skipPointer(r *bin.Reader, size int) bool {
	enc := r.U8()
	if enc == encOmit {
		return true
	}
	_, ok := s.pointer(r, enc&^encInd, size, 0)
	return ok
}

// readFDE reads the FDE at off and its CIE. For .debug_frame all addresses are
// absolute. Bit 0 of a start is an ISA mode where the ABI has such (MIPS16e and
// microMIPS: the labels of the assembler carry it).
func (s *frames) readFDE(off uint64, f *fde) bool {
	if s.eh && s.readUsual(off, f) {
		return true
	}
	var e entry
	if !s.readEntry(off, &e) || e.cie || e.end-off < 12 {
		return false
	}
	return s.readRange(&e, f) && e.r.Err() == nil
}

// readUsual reads an FDE of .eh_frame as nearly all compilers write it: a 32-bit
// length, the start relative to where it stands, the size in 32 bits, augmentation
// data of a few bytes. It reports false for any other.
//
//	0 length  4 CIE pointer  8 start  12 size  16 length of augmentation data  17 …
func (s *frames) readUsual(off uint64, f *fde) bool {
	const aug = 16
	if n := uint64(len(s.data)); off > n || n-off <= aug {
		return false
	}
	b := s.data[off:]
	length, id, start := uint64(s.word(b)), uint64(s.word(b[4:])), s.word(b[8:])
	code := aug + 1 + uint64(b[aug])
	if length+4 < code || length+4 > uint64(len(b)) || length == 0xffff_ffff || id == 0 || start == 0 || b[aug] >= 0x80 {
		return false
	}
	c := s.cieAt(off + 4 - id)
	if c == nil || c.fdeEnc != encPCRel|encSData4 || !c.sized || c.selector != 0 {
		return false
	}
	f.cie, f.augmented, f.code = c, span{off + aug + 1, off + code}, span{off + code, off + 4 + length}
	f.start = (s.addr + off + 8 + uint64(int32(start))) & s.arch.AddrMask()
	f.size = uint64(int32(s.word(b[12:]))) & s.arch.AddrMask()
	if s.arch.ISABit {
		f.start &^= 1
	}
	return true
}

func (s *frames) readRange(e *entry, f *fde) bool {
	if f.cie = s.cieAt(e.cieOff); f.cie == nil {
		return false
	}
	c, r := f.cie, &e.r
	r.Skip(uint64(c.selector))
	start, ok := s.pointer(r, c.fdeEnc, c.addrSize, 0)
	size, ok2 := number(r, c.fdeEnc&encFormat, c.addrSize)
	f.augmented = span{}
	if c.sized {
		n := r.ULEB()
		f.augmented = span{uint64(r.Offset()), uint64(r.Offset()) + n}
		r.Skip(n)
	}
	if s.arch.ISABit {
		start &^= 1
	}
	f.start, f.size = start, size&s.arch.AddrMask()
	f.code = span{uint64(r.Offset()), e.end}
	return ok && ok2
}
