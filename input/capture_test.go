package input

import (
	"bytes"
	"context"
	"testing"
)

// TestForget: what a format keeps of a capture is the same when its memory was given back, be it
// a file's, an unpacked one's, or memory that nobody could read again.
func TestForget(t *testing.T) {
	content := []byte("kept" + string(bytes.Repeat([]byte("0123456789abcdef"), 1<<14)))
	var kept []byte
	keeping := Format{
		Name:  "kept",
		Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte("kept")) },
		Open: func(ctx context.Context, src *Capture, _ *Env) (s Stream, err error) {
			kept, err = src.Bytes(ctx)
			return One(nil), err
		},
	}
	dir, ctx := t.TempDir(), context.Background()
	for name, open := range map[string]func() (Stream, error){
		"file": func() (Stream, error) { return env(keeping).Open(ctx, place(t, dir, "plain", content)) },
		"gzip": func() (Stream, error) {
			return env(keeping).Open(ctx, place(t, dir, "packed", zipped(string(content))))
		},
		"upload": func() (Stream, error) { return env(keeping).OpenReader(ctx, "upload", bytes.NewReader(content)) },
		"memory": func() (Stream, error) {
			return NewCapture("memory", bytes.Clone(content)).open(ctx, env(keeping))
		},
	} {
		s, err := open()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(kept, content) {
			t.Errorf("%s: other bytes", name)
		}
		s.Close()
	}
}
