package truth

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDynamicImages: what is written of a dynamic program is found again: its own
// file in the case, its libraries beside, each with its bias.
func TestDynamicImages(t *testing.T) {
	root := t.TempDir()
	c := newCase(root, filepath.Join(root, "mipsel", "sed-debian-bin"))
	lib := filepath.Join(root, "mipsel", "lib")
	for _, dir := range []string{c.Dir, lib} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	store(t, "program", filepath.Join(c.Dir, "stripped.elf.gz"))
	store(t, "library", filepath.Join(lib, "libc.so.6.gz"))
	if err := WriteImages(c.Dir, []Placed{{File: "libc.so.6", Bias: 0x3f51_0000}, {File: Own, Bias: 0x4000_0000}}); err != nil {
		t.Fatal(err)
	}
	images, cleanup, err := c.Images("stripped")
	if err != nil {
		t.Fatal(err)
	}
	defer cleanup()
	for i, want := range []struct {
		content string
		bias    uint64
	}{{"library", 0x3f51_0000}, {"program", 0x4000_0000}} {
		if got, err := os.ReadFile(images[i].Path); err != nil || string(got) != want.content || images[i].Bias != want.bias {
			t.Errorf("image %d: %q at %#x, %v; want %q at %#x", i, got, images[i].Bias, err, want.content, want.bias)
		}
	}
	if images, cleanup, err := c.Images("sym"); err != nil || len(images) > 0 {
		t.Errorf("a tier that the case lacks: %d images, %v", len(images), err)
	} else {
		cleanup()
	}
	if _, found, _, err := c.Binary("stripped"); found || err != nil {
		t.Errorf("a dynamic program is no single binary: %v, %v", found, err)
	}
}

// store writes content to a compressed file.
func store(t *testing.T, content, to string) {
	t.Helper()
	from := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(from, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Compress(from, to); err != nil {
		t.Fatal(err)
	}
}

// TestLibraryMissing: a library that images.json names but nobody stored is an error
// that names the case.
func TestLibraryMissing(t *testing.T) {
	root := t.TempDir()
	c := newCase(root, root)
	if err := WriteImages(c.Dir, []Placed{{File: "libc.so.6"}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Images("stripped"); err == nil {
		t.Error("no error")
	}
}
