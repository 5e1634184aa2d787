package input_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
)

// TestReadSymbols: nm's output names the functions of a binary without symbols; a list of
// another binary does not, nor do other files in the same directory.
func TestReadSymbols(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bin := write("fw.bin", strings.Repeat("\x00\x00\x00\x00", 256))
	write("lists/a.map", "90000000 T other\n90000010 T wrong\n")
	write("lists/b.map", "00000000 T reset\n00000100 T main\n00000200 t idle\n")
	write("lists/readme", "about these files\n")
	arch, _ := backsight.CPUs().ByName("mips", "o32", true)
	files := backsight.NewFiles(input.FileOptions{Raw: arch})
	if err := files.ReadSymbols([]string{filepath.Join(dir, "lists")}); err != nil {
		t.Fatal(err)
	}
	img, err := files.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := img.Symbols.At(0x110); !ok || s.Name != "main" || s.Size != 0x100 {
		t.Errorf("symbol %+v", s)
	}
	for _, path := range []string{filepath.Join(dir, "none"), filepath.Join(dir, "lists/readme")} {
		if err := files.ReadSymbols([]string{path}); err == nil || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
