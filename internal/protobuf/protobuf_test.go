package protobuf_test

import (
	"testing"

	"github.com/backsight/backsight/internal/protobuf"
)

// TestWritten: what was written is read again; a number that is 0 is not there.
func TestWritten(t *testing.T) {
	m := protobuf.AppendBytes(protobuf.Numbers(300, 0, 1<<63), 4, []byte("text"))
	m = protobuf.AppendPacked(m, 16, 1, 128)
	var first, third uint64
	var text string
	var packed []byte
	whole := protobuf.Each(m, func(f protobuf.Field) {
		if f.Num == 16 {
			packed = f.Bytes
		}
		f.Into(&first, func() { t.Error("a field that is 0") }, &third, &text)
	})
	if whole != len(m) || first != 300 || third != 1<<63 || text != "text" {
		t.Errorf("%d of %d bytes: %d %d %q", whole, len(m), first, third, text)
	}
	if string(packed) != "\x01\x80\x01" {
		t.Errorf("packed: %q", packed)
	}
}
