package bin

import "encoding/binary"

// Order is a byte order, true for big-endian. Its methods decode the first bytes of a
// record whose length the caller has seen to: a shorter slice is a panic. For records that
// are read by the hundred thousand, such as symbols; all else takes a Reader.
type Order bool

// U16 decodes two bytes.
func (big Order) U16(b []byte) uint16 {
	if big {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

// U32 decodes four bytes.
func (big Order) U32(b []byte) uint32 {
	if big {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

// U64 decodes eight bytes.
func (big Order) U64(b []byte) uint64 {
	if big {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}
