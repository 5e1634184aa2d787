package input_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/pdbfile"
	"github.com/backsight/backsight/internal/synth/pefile"
	"github.com/backsight/backsight/internal/synth/recorded"
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

// TestProgramDatabase: below a directory that the user named, as symbol servers have it, lies the database of a binary; where the
// binary is not at hand, the database stands in. One of another build does not.
func TestProgramDatabase(t *testing.T) {
	const build = "GUID of 16 bytes\x01\x00\x00\x00"
	id := image.SymbolServerID([]byte(build))
	if id != "444955476F20206631362062797465731" || image.SymbolServerID(nil) != "" {
		t.Errorf("ID %q", id)
	}
	db := pdbfile.File{Machine: pefile.X64, Sections: []pdbfile.Section{{RVA: 0x1000, Size: 0x100, Code: true}},
		Modules: []pdbfile.Module{{Parts: []pdbfile.Part{{Section: 1, Size: 0x100}}}}, Publics: pdbfile.Public(1, 0x10, "main")}
	copy(db.ID[:], build)
	dir := t.TempDir()
	path := filepath.Join(dir, "app.pdb", id, "app.pdb")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, db.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, named := range []string{dir, path} {
		files := backsight.NewFiles(input.FileOptions{})
		defer files.Close()
		if err := files.ReadSymbols([]string{named}); err != nil {
			t.Fatal(err)
		}
		ref := input.BinaryRef{Name: `C:\out\app.pdb`}
		img := files.SymbolFile(ref, []string{id})
		if img == nil || !img.Hollow() {
			t.Fatalf("%s: %v", named, img)
		}
		if s, ok := img.Symbols.At(0x1010); !ok || s.Name != "main" {
			t.Errorf("%s: %+v", named, s)
		}
		if files.SymbolFile(ref, []string{"0" + id[1:]}) != nil {
			t.Errorf("%s: taken for another build", named)
		}
	}
}

// TestSymbolFileNames: a stripped binary has the names and lines of the symbol file of its build, from its lowest address on, where
// its own symbols do not reach.
func TestSymbolFileNames(t *testing.T) {
	program := recorded.Testdata(t, "x86_64-threads")
	path := filepath.Join(program, "modules/usr/bin/server")
	plain := backsight.NewFiles(input.FileOptions{})
	defer plain.Close()
	img, err := plain.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	lo, _ := img.Segments.Bounds()
	place := img.Entry
	for s, ok := img.Symbols.At(place); ok && s.Size != 0; s, ok = img.Symbols.At(place) {
		place++
	}
	addr := place - lo&^0xfff
	guid := make([]byte, 20)
	copy(guid, img.BuildID[:16])
	dir := t.TempDir()
	for id, want := range map[string]string{image.SymbolServerID(guid): "begin", "0" + image.SymbolServerID(guid)[1:]: ""} {
		text := fmt.Sprintf("MODULE Linux x86_64 %s server\nFILE 0 a.c\nFUNC %x 4 0 begin\n%x 4 7 0\n", id, addr, addr)
		if err := os.WriteFile(filepath.Join(dir, "server.sym"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files := backsight.NewFiles(input.FileOptions{})
		if err := files.ReadSymbols([]string{dir}); err != nil {
			t.Fatal(err)
		}
		img, err := files.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := img.Symbols.At(place + 2)
		l, _ := img.Debug.LineAt(place + 2)
		if named := s.Name == "begin" && s.Addr == place && l.File == "a.c" && l.Line == 7; named != (want != "") {
			t.Errorf("%s: %+v, %+v", id, s, l)
		}
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOtherSymbolFile: a symbol file of a name is found without an identifier where one file alone has the name.
func TestOtherSymbolFile(t *testing.T) {
	dir := t.TempDir()
	files := backsight.NewFiles(input.FileOptions{})
	defer files.Close()
	if err := files.ReadSymbols([]string{dir}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		id    string
		found bool
	}{{"AB0", true}, {"CD0", false}} {
		path := filepath.Join(dir, "app", c.id, "app.sym")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("MODULE Linux mips "+c.id+" app\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := files.OtherSymbolFile("/opt/app"); (got == path) != c.found || !c.found && got != "" {
			t.Errorf("%q", got)
		}
	}
}
