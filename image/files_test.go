package image_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/backsight/backsight/image"
)

// TestPeek: the bytes are those that were opened, also where others have taken the path since then,
// and copies of a file's bytes are bounded.
func TestPeek(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 1000)
	for name, meddle := range map[string]func(path string) error{
		"the same file": func(string) error { return nil },
		"no file":       os.Remove,
		"another file": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.WriteFile(path, make([]byte, len(content)), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := fileWith(t, content)
			if err := meddle(f.Path); err != nil {
				t.Fatal(err)
			}
			img := image.New(image.Header{}, linked{files: []*image.File{f}})
			copies := 0
			for i := range 10_000 {
				part := f.Data[i : i+16]
				got := img.Files.Peek(part)
				if !bytes.Equal(got, part) {
					t.Fatalf("at %d: %q, not %q", i, got, part)
				}
				if unsafe.SliceData(got) != unsafe.SliceData(part) {
					copies++
				}
			}
			if most := 2000; copies > most || copies == 0 != (name != "the same file") {
				t.Errorf("%d copies", copies)
			}
		})
	}
}

// TestPeekInMemory: bytes of no file are looked at where they are.
func TestPeekInMemory(t *testing.T) {
	data := []byte("0123456789")
	for _, files := range [][]*image.File{nil, {{Data: data}}, {{Data: []byte("other")}}} {
		if got := image.New(image.Header{}, linked{files: files}).Files.Peek(data[3:5]); string(got) != "34" {
			t.Errorf("%q", got)
		}
	}
	if got := image.New(image.Header{}, nil).Files.Peek(data[3:5]); string(got) != "34" {
		t.Errorf("no container: %q", got)
	}
}

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
