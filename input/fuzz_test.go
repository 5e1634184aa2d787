package input

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/backsight/backsight/target"
)

// FuzzOpen: whatever comes through a pipe, compressed or not, opens or is refused, and
// what a damaged stream holds can be read up to the damage.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("echo plain"))
	f.Add(zipped("echo packed"))
	f.Add(zstandard("echo packed"))
	f.Add(zipped("echo cut off")[:20])
	f.Add(append(zipped("echo"), zstandard("echo")...))
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xff})
	const enough = 1 << 20 // a few bytes can unpack to gigabytes
	formats := []Format{{
		Name:  "echo",
		Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte("echo")) },
		Open: func(_ context.Context, src *Capture, _ *Env) (Stream, error) {
			data, _ := io.ReadAll(io.LimitReader(src.Stream(), enough))
			if !bytes.HasPrefix(data, []byte("echo")) {
				return nil, &Error{Path: src.Name, Reason: "the stream is not what its head was"}
			}
			return one{&target.Snapshot{Command: string(data)}}, nil
		},
	}}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := (&Env{Formats: formats}).OpenReader(context.Background(), "-", bytes.NewReader(data))
		if (s == nil) != (err != nil) {
			t.Errorf("stream %v, error %v", s, err)
		}
		if s != nil {
			defer s.Close()
		}
		if bytes.HasPrefix(data, []byte("echo")) && err != nil {
			t.Error(err)
		}
	})
}
