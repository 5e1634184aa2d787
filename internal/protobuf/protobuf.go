// Package protobuf reads and writes the wire form of protobuf messages, field by field.
package protobuf

import (
	"encoding/binary"

	"github.com/backsight/backsight/internal/bin"
)

// The wire types of protobuf messages (protobuf.dev, "Encoding"). Groups, which no schema has
// had for years, are none of them.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5

	typeBits = 3 // of a tag; the field's number is above them
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

// Numbers is a message whose fields from 1 on are numbers. A 0 is left out: a field that is missing is read as 0.
func Numbers(values ...uint64) (message []byte) {
	for i, v := range values {
		if v != 0 {
			message = binary.AppendUvarint(appendTag(message, uint64(i+1), wireVarint), v)
		}
	}
	return message
}

// AppendPacked appends a field of several numbers to a message.
func AppendPacked(message []byte, num uint64, values ...uint64) []byte {
	var packed []byte
	for _, v := range values {
		packed = binary.AppendUvarint(packed, v)
	}
	return AppendBytes(message, num, packed)
}

// AppendBytes appends a field of bytes, a text or a message to a message.
func AppendBytes(message []byte, num uint64, b []byte) []byte {
	message = binary.AppendUvarint(appendTag(message, num, wireBytes), uint64(len(b)))
	return append(message, b...)
}

func appendTag(message []byte, num, wire uint64) []byte {
	return binary.AppendUvarint(message, num<<typeBits|wire)
}
