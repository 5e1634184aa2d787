// Package protobuf reads the wire form of protobuf messages, field by field.
package protobuf

import "github.com/backsight/backsight/internal/bin"

// The wire types of protobuf messages (protobuf.dev, "Encoding"). Groups, which no schema has
// had for years, are none of them.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// Field is one field of a protobuf message: a number, or bytes.
type Field struct {
	Num   uint64
	Value uint64
	Bytes []byte
}

// Text is a field of bytes as text.
func (f *Field) Text() string { return string(f.Bytes) }

// Into stores the field where its number says, 1 for the first of places: as a text, a number, bytes, or a number that is
// not 0. A function takes the field itself; nil: nobody wants the field.
func (f *Field) Into(places ...any) {
	if f.Num > uint64(len(places)) {
		return
	}
	switch to := places[f.Num-1].(type) {
	case *string:
		*to = f.Text()
	case *uint64:
		*to = f.Value
	case *int64:
		*to = int64(f.Value)
	case *uint32:
		*to = uint32(f.Value)
	case *bool:
		*to = f.Value != 0
	case *[]byte:
		*to = f.Bytes
	case func():
		to()
	}
}

// Each calls yield for the fields of a message, in order, and returns how many bytes were
// whole fields: all of them, unless the message is damaged.
func Each(b []byte, yield func(f Field)) (whole int) {
	const typeBits = 3
	for r := bin.New(b, false); r.Len() > 0; whole = r.Offset() {
		tag := r.ULEB()
		f := Field{Num: tag >> typeBits}
		switch tag & (1<<typeBits - 1) {
		case wireVarint:
			f.Value = r.ULEB()
		case wireFixed64:
			f.Value = r.U64()
		case wireBytes:
			f.Bytes = r.Bytes(r.ULEB())
		case wireFixed32: // no schema that is read here has any
			r.U32()
		default:
			return whole
		}
		if r.Err() != nil || f.Num == 0 {
			return whole
		}
		yield(f)
	}
	return whole
}
