package plcrash

import "google.golang.org/protobuf/encoding/protowire"

// field is one field of a protobuf message: a number, or bytes.
type field struct {
	num   protowire.Number
	value uint64
	bytes []byte
}

func (f *field) text() string { return string(f.bytes) }

// eachField calls yield for the fields of a message, in order, and returns how many bytes were
// whole fields: all of them, unless the message is damaged.
func eachField(b []byte, yield func(f field)) (whole int) {
	size := len(b)
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			break
		}
		f := field{num: num}
		m := 0
		switch rest := b[n:]; typ {
		case protowire.VarintType:
			f.value, m = protowire.ConsumeVarint(rest)
		case protowire.Fixed64Type:
			f.value, m = protowire.ConsumeFixed64(rest)
		case protowire.BytesType:
			f.bytes, m = protowire.ConsumeBytes(rest)
		default: // nothing that the schema has
			m = protowire.ConsumeFieldValue(num, typ, rest)
		}
		if m < 0 {
			break
		}
		yield(f)
		b = b[n+m:]
	}
	return size - len(b)
}

// numbers appends a repeated number, which may come packed in bytes.
func numbers(list []uint64, f *field) []uint64 {
	const most = 64 // Mach exceptions have two codes
	if f.bytes == nil && len(list) < most {
		return append(list, f.value)
	}
	for b := f.bytes; len(b) > 0 && len(list) < most; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			break
		}
		list, b = append(list, v), b[n:]
	}
	return list
}
