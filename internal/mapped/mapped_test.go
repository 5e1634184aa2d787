package mapped

import (
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
