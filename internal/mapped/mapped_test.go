package mapped

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, content := range []string{"", "x", "some bytes"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		data, release, err := Open(path)
		if err != nil || string(data) != content {
			t.Fatalf("Open = %q, %v; want %q", data, err, content)
		}
		if err := release(); err != nil {
			t.Errorf("release: %v", err)
		}
	}
}

func TestOpenRefusesWhatIsNotAFile(t *testing.T) {
	if _, _, err := Open(t.TempDir()); !errors.Is(err, ErrNotRegular) {
		t.Errorf("directory: %v", err)
	}
	if _, _, err := Open(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

// TestForget: bytes that were forgotten are the file's when they are looked at again.
func TestForget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	data, release, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, part := range [][]byte{data, data[1:], data[4096:8192], data[5:6], data[:4095], data[3:9000], data[:0], nil} {
		if !bytes.Equal(data, content) {
			t.Fatal("a part that was forgotten has changed")
		}
		Forget(part)
	}
	if !bytes.Equal(data, content) {
		t.Error("a part that was forgotten has changed")
	}
}
