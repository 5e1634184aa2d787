package image_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/image"
)

// TestForget: the bytes of an image are the same when their memory was given back, also those that
// nobody could read again.
func TestForget(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	f := fileWith(t, content)
	memory := &image.File{Data: bytes.Clone(content)}
	image.New(image.Header{}, linked{files: []*image.File{f, memory}}).Files.Forget()
	if !bytes.Equal(f.Data, content) || !bytes.Equal(memory.Data, content) {
		t.Error("other bytes")
	}
}

// fileWith is an open file with this content.
func fileWith(t *testing.T, content []byte) *image.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := image.OpenFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
