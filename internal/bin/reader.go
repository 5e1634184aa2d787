// Package bin reads integers, LEB128 numbers and strings from bytes that may
// lie. It is the only code that indexes untrusted bytes: a read past the end
// of a Reader returns zero, sticks an error, and never panics. Order is for
// records whose length was looked at before.
package bin

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrShort is what every read past the end wraps.
var ErrShort = errors.New("data ends too early")

// errWidth is an integer of a size that no integer has.
var errWidth = errors.New("integer wider than 8 bytes")

// errLEB is a LEB128 number that does not fit 64 bits.
var errLEB = errors.New("LEB128 number too long")

// Reader is a cursor over data with a sticky error. After an error all reads
// return zero values and the offset stays. It is a value: copy it to look ahead.
type Reader struct {
	data []byte
	off  int
	big  bool
	err  error
}

// New returns a Reader over data.
func New(data []byte, bigEndian bool) Reader { return Reader{data: data, big: bigEndian} }

// NewAt returns a Reader over data that begins at off, at the end if off is beyond.
func NewAt(data []byte, off uint64, bigEndian bool) Reader {
	return Reader{data: data, off: int(min(off, uint64(len(data)))), big: bigEndian}
}

// Err is the first error, nil if all reads were within the data.
func (r *Reader) Err() error { return r.err }

// Offset is the position of the next read.
func (r *Reader) Offset() int { return r.off }

// Len is the number of bytes that are left.
func (r *Reader) Len() int { return len(r.data) - r.off }

// Seek sets the position. Beyond the end is an error.
func (r *Reader) Seek(off uint64) {
	if off > uint64(len(r.data)) {
		r.fail(ErrShort)
		return
	}
	if r.err == nil {
		r.off = int(off)
	}
}

// Skip moves n bytes on.
func (r *Reader) Skip(n uint64) { r.take(n) }

// Align moves on to the next multiple of n (a power of two) from the start.
func (r *Reader) Align(n int) { r.Skip(uint64(-r.off & (n - 1))) }

func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("at offset %#x: %w", r.off, err)
	}
}

func (r *Reader) take(n uint64) []byte {
	if r.err != nil {
		return nil
	}
	if n > uint64(len(r.data)-r.off) {
		r.fail(ErrShort)
		return nil
	}
	b := r.data[r.off : r.off+int(n) : r.off+int(n)]
	r.off += int(n)
	return b
}

// Bytes returns the next n bytes without copying, nil at the end.
func (r *Reader) Bytes(n uint64) []byte { return r.take(n) }

// U8 reads a byte.
func (r *Reader) U8() uint8 {
	if r.err == nil && r.off < len(r.data) {
		b := r.data[r.off]
		r.off++
		return b
	}
	r.fail(ErrShort)
	return 0
}

// U16 reads two bytes.
func (r *Reader) U16() uint16 {
	if r.err != nil || len(r.data)-r.off < 2 {
		r.fail(ErrShort)
		return 0
	}
	b := r.data[r.off:][:2]
	r.off += 2
	return Order(r.big).U16(b)
}

// U32 reads four bytes.
func (r *Reader) U32() uint32 {
	if r.err != nil || len(r.data)-r.off < 4 {
		r.fail(ErrShort)
		return 0
	}
	b := r.data[r.off:][:4]
	r.off += 4
	return Order(r.big).U32(b)
}

// U64 reads eight bytes.
func (r *Reader) U64() uint64 {
	if r.err != nil || len(r.data)-r.off < 8 {
		r.fail(ErrShort)
		return 0
	}
	b := r.data[r.off:][:8]
	r.off += 8
	return Order(r.big).U64(b)
}

// Uint reads an unsigned integer of n bytes. n is 0 to 8; other sizes, which a
// file may state as its address size, are an error.
func (r *Reader) Uint(n int) uint64 {
	if n < 0 || n > 8 {
		r.fail(errWidth)
		return 0
	}
	return Uint(r.take(uint64(n)), r.big)
}

// Int reads a signed integer of n bytes, n like that of Uint.
func (r *Reader) Int(n int) int64 {
	v := r.Uint(n)
	if r.err != nil {
		return 0
	}
	shift := 64 - 8*n
	return int64(v<<shift) >> shift
}

// Limit is the smaller of n, a number that a file states, and most, what there
// can be. It is how such numbers become an int.
func Limit(n uint64, most int) int {
	if n > uint64(most) {
		return most
	}
	return int(n)
}

// Uint decodes up to 8 bytes as an unsigned integer.
func Uint(b []byte, bigEndian bool) uint64 {
	if len(b) == 8 {
		return Order(bigEndian).U64(b)
	}
	var v uint64
	if bigEndian {
		for _, c := range b {
			v = v<<8 | uint64(c)
		}
		return v
	}
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// ULEB reads an unsigned LEB128 number (DWARF 5 §7.6). Most have one byte.
func (r *Reader) ULEB() uint64 {
	if r.err == nil && r.off < len(r.data) && r.data[r.off] < 0x80 {
		r.off++
		return uint64(r.data[r.off-1])
	}
	return r.longULEB()
}

func (r *Reader) longULEB() uint64 {
	if r.err != nil {
		return 0
	}
	const longest = 22 // bytes; more than ten are padding
	var v uint64
	for i, b := range r.data[r.off:] {
		if i < 10 {
			v |= uint64(b&0x7f) << (7 * i)
		}
		if b < 0x80 {
			r.off += i + 1
			return v
		}
		if i == longest-1 {
			r.off += longest
			r.fail(errLEB)
			return 0
		}
	}
	r.off = len(r.data)
	r.fail(ErrShort)
	return 0
}

// SLEB reads a signed LEB128 number (DWARF 5 §7.6).
func (r *Reader) SLEB() int64 {
	var v int64
	for shift := uint(0); ; {
		b := r.U8()
		if r.err != nil {
			return 0
		}
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		shift += 7
		if b < 0x80 {
			if shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
		if shift > 140 {
			r.fail(errLEB)
			return 0
		}
	}
}

// CString reads a string up to its NUL. A missing NUL is an error.
func (r *Reader) CString() string { return string(r.CBytes()) }

// CBytes reads up to a NUL without copying.
func (r *Reader) CBytes() []byte {
	if r.err != nil {
		return nil
	}
	i := bytes.IndexByte(r.data[r.off:], 0)
	if i < 0 {
		r.fail(ErrShort)
		return nil
	}
	b := r.data[r.off : r.off+i : r.off+i]
	r.off += i + 1
	return b
}
