package macho

import "github.com/backsight/backsight/internal/bin"

// chain is a list of words that dyld adjusts: the first at an address, all before end.
type chain struct {
	format  uint16
	at, end uint64
}

// link is a word of a chain, decoded.
type link struct {
	bind    bool
	ordinal uint32
	target  uint64
	next    uint64 // bytes to the next word, 0 at the end
}

// Pointer formats (DYLD_CHAINED_PTR_* of mach-o/fixup-chains.h).
const (
	ptrARM64E           = 1
	ptr64               = 2
	ptr32               = 3
	ptr64Offset         = 6
	ptrARM64EKernel     = 7
	ptrARM64EUserland   = 9
	ptrARM64EUserland24 = 12
)

// decodeLink reads a word of a chain; base is the address of the mach header. ok is false for a
// format that is not followed.
func decodeLink(format uint16, v, base uint64) (l link, ok bool) {
	switch format {
	case ptr64, ptr64Offset:
		l = link{bind: v>>63 != 0, ordinal: uint32(v & 0xff_ffff), target: v & (1<<36 - 1), next: v >> 51 & 0xfff * 4}
		if format == ptr64Offset {
			l.target += base
		}
	case ptr32:
		l = link{bind: v>>31 != 0, ordinal: uint32(v & 0xf_ffff), target: v & (1<<26 - 1), next: v >> 26 & 0x1f * 4}
	case ptrARM64E, ptrARM64EKernel, ptrARM64EUserland, ptrARM64EUserland24:
		l = decodeARM64E(format, v, base)
	default:
		return l, false
	}
	return l, true
}

// decodeARM64E reads a word that may carry a signature: bit 63 tells, bit 62 tells binds.
func decodeARM64E(format uint16, v, base uint64) link {
	l := link{bind: v>>62&1 != 0, ordinal: uint32(v & 0xffff), next: v >> 51 & 0x7ff * 8}
	if format == ptrARM64EUserland24 {
		l.ordinal = uint32(v & 0xff_ffff)
	}
	if format == ptrARM64EKernel {
		l.next /= 2
	}
	switch signed := v>>63 != 0; {
	case signed:
		l.target = v&0xffff_ffff + base
	case format == ptrARM64E:
		l.target = v & (1<<43 - 1)
	default:
		l.target = v&(1<<43-1) + base
	}
	return l
}

// follow calls yield for the words of a chain, until it returns false.
func (f *file) follow(c chain, yield func(at uint64, l link) bool) bool {
	base := f.textAddr()
	r := bin.New(f.bytesAt(c.at), f.big)
	for at := c.at; at < c.end; {
		r.Seek(at - c.at)
		l, ok := decodeLink(c.format, f.word(&r), base)
		if !ok || r.Err() != nil {
			return true
		}
		if !yield(at, l) {
			return false
		}
		if l.next == 0 {
			return true
		}
		at += l.next
	}
	return true
}
