package synth

import "encoding/binary"

// Message is a protobuf message of fields: numbers, and strings or bytes, by turns with their field numbers.
func Message(fields ...any) (b []byte) {
	const varint, length = 0, 2
	for i := 0; i < len(fields); i += 2 {
		tag := uint64(fields[i].(int)) << 3
		bytes := func(v []byte) {
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, tag|length), uint64(len(v))), v...)
		}
		switch v := fields[i+1].(type) {
		case int:
			b = binary.AppendUvarint(binary.AppendUvarint(b, tag|varint), uint64(v))
		case uint64:
			b = binary.AppendUvarint(binary.AppendUvarint(b, tag|varint), v)
		case string:
			bytes([]byte(v))
		case []byte:
			bytes(v)
		}
	}
	return b
}
