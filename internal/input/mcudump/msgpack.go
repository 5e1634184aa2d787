package mcudump

import (
	"fmt"

	"github.com/backsight/backsight/internal/bin"
)

// decoder reads values of MessagePack (github.com/msgpack/msgpack, spec.md) one after the other. Nothing is kept of them: a dump
// has each byte of memory as a number, and a tree of these would take ten times as much.
type decoder struct{ bin.Reader }

// The first bytes of values. Ranges are named by their first.
const (
	fixMap, fixArray, fixStr  = 0x80, 0x90, 0xa0
	null, boolFalse, boolTrue = 0xc0, 0xc2, 0xc3
	bin8, ext8, float32       = 0xc4, 0xc7, 0xca
	uint8s, int8s, fixExt1    = 0xcc, 0xd0, 0xd4
	str8, array16, map16      = 0xd9, 0xdc, 0xde
	negative                  = 0xe0
)

// kind is what a value is.
type kind uint8

const (
	isNumber kind = iota // n is the number
	isText               // text, or bytes: n bytes follow
	isArray              // n values follow
	isMap                // n pairs of values follow
	isOther              // what nothing here asks for, and is over
)

// next reads where a value begins.
func (d *decoder) next() (k kind, n uint64) {
	switch b := d.U8(); {
	case b < fixMap:
		return isNumber, uint64(b)
	case b < fixArray:
		return isMap, uint64(b - fixMap)
	case b < fixStr:
		return isArray, uint64(b - fixArray)
	case b < null:
		return isText, uint64(b - fixStr)
	case b >= negative:
		return isNumber, uint64(int64(int8(b)))
	case b >= map16:
		return isMap, d.Uint(2 << (b - map16))
	case b >= array16:
		return isArray, d.Uint(2 << (b - array16))
	case b >= str8:
		return isText, d.Uint(1 << (b - str8))
	case b >= fixExt1:
		d.Skip(1 + 1<<(b-fixExt1))
	case b >= int8s:
		return isNumber, uint64(d.Int(1 << (b - int8s)))
	case b >= uint8s:
		return isNumber, d.Uint(1 << (b - uint8s))
	case b >= float32:
		d.Skip(4 << (b - float32))
	case b >= ext8:
		d.Skip(1 + d.Uint(1<<(b-ext8)))
	case b >= bin8:
		return isText, d.Uint(1 << (b - bin8))
	}
	return isOther, 0
}

// maxDepth bounds how deep values nest: a dump's five.
const maxDepth = 16

// skip reads a whole value.
func (d *decoder) skip(depth int) {
	k, n := d.next()
	if k == isText {
		d.Skip(n)
		return
	}
	if k == isMap {
		n *= 2
	}
	if k == isArray || k == isMap {
		for ; n > 0 && depth < maxDepth && d.Err() == nil; n-- {
			d.skip(depth + 1)
		}
	}
}

// text reads a text.
func (d *decoder) text() string {
	if k, n := d.next(); k == isText {
		return string(d.Bytes(n))
	}
	return ""
}

// number reads a number.
func (d *decoder) number() (uint64, error) {
	k, n := d.next()
	if k != isNumber {
		return 0, fmt.Errorf("no number at %#x", d.Offset())
	}
	return n, d.Err()
}

// each reads a map, or an array whose elements are pairs, as it does some maps; pair reads both values of a pair.
func (d *decoder) each(pair func()) {
	k, n := d.next()
	if k != isMap && k != isArray {
		return
	}
	for ; n > 0 && d.Err() == nil; n-- {
		if k == isArray {
			if inner, two := d.next(); inner != isArray || two != 2 {
				return
			}
		}
		pair()
	}
}

// bytes reads bytes, or an array of numbers that are bytes.
func (d *decoder) bytes() (out []byte) {
	k, n := d.next()
	if k == isText {
		return d.Bytes(n)
	}
	if k != isArray {
		return nil
	}
	out = make([]byte, 0, min(n, uint64(d.Len()))) // a number takes a byte at least
	for ; n > 0 && d.Err() == nil; n-- {
		v, err := d.number()
		if err != nil {
			break
		}
		out = append(out, byte(v))
	}
	return out
}
