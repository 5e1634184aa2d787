package plcrash

import "github.com/backsight/backsight/internal/bin"

// The wire types of protobuf messages (protobuf.dev, "Encoding"). Groups, which no schema has
// had for years, are none of them.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// field is one field of a protobuf message: a number, or bytes.
type field struct {
	num   uint64
	value uint64
	bytes []byte
}

func (f *field) text() string { return string(f.bytes) }

// into stores the field where its number says, 1 for the first of places: as a text, a number, bytes, or a number that is
// not 0. A function takes the field itself; nil: nobody wants the field.
func (f *field) into(places ...any) {
	if f.num > uint64(len(places)) {
		return
	}
	switch to := places[f.num-1].(type) {
	case *string:
		*to = f.text()
	case *uint64:
		*to = f.value
	case *int64:
		*to = int64(f.value)
	case *uint32:
		*to = uint32(f.value)
	case *bool:
		*to = f.value != 0
	case *[]byte:
		*to = f.bytes
	case func():
		to()
	}
}

// eachField calls yield for the fields of a message, in order, and returns how many bytes were
// whole fields: all of them, unless the message is damaged.
func eachField(b []byte, yield func(f field)) (whole int) {
	const typeBits = 3
	for r := bin.New(b, false); r.Len() > 0; whole = r.Offset() {
		tag := r.ULEB()
		f := field{num: tag >> typeBits}
		switch tag & (1<<typeBits - 1) {
		case wireVarint:
			f.value = r.ULEB()
		case wireFixed64:
			f.value = r.U64()
		case wireBytes:
			f.bytes = r.Bytes(r.ULEB())
		case wireFixed32: // the schema has none
			r.U32()
		default:
			return whole
		}
		if r.Err() != nil || f.num == 0 {
			return whole
		}
		yield(f)
	}
	return whole
}

// numbers appends a repeated number, which may come packed in bytes.
func numbers(list []uint64, f *field) []uint64 {
	const most = 64 // Mach exceptions have two codes
	if f.bytes == nil && len(list) < most {
		return append(list, f.value)
	}
	for r := bin.New(f.bytes, false); r.Len() > 0 && len(list) < most; {
		v := r.ULEB()
		if r.Err() != nil {
			break
		}
		list = append(list, v)
	}
	return list
}
