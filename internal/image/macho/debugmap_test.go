package macho

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth/machofile"
	"github.com/backsight/backsight/internal/synth/recorded"
)

// TestDebugMap: a program without a dSYM names the object files that it was linked from, one in an
// archive; an object file with other code is not the one.
func TestDebugMap(t *testing.T) {
	dir := recorded.Testdata(t, "macos-deep")
	opt := options()
	opt.DebugDirs = []string{filepath.Join(dir, "objects")}
	open := func() *image.Image {
		img, err := image.Open(filepath.Join(dir, "compact"), []image.Format{Format()}, opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { img.Close() })
		return img
	}
	img := open()
	for _, name := range []string{"finish", "busy"} {
		s, ok := img.Symbols.Named(name)
		obj, at, err := img.Debug.Object(s.Addr + 4)
		if !ok || obj == nil || err != nil {
			t.Fatal(name, err)
		}
		if theirs, _ := obj.Symbols.Named(name); at != theirs.Addr+4 {
			t.Errorf("%s+4 is at %#x of the object file, which has it at %#x", name, at, theirs.Addr)
		}
		if _, ok := obj.Sections.Named(".debug_info"); !ok {
			t.Errorf("the object file of %s has no DWARF", name)
		}
	}
	if obj, _, err := img.Debug.Object(0x1000); obj != nil || err != nil {
		t.Errorf("an address outside of all functions: %v", err)
	}

	data, err := os.ReadFile(filepath.Join(dir, "objects", "parser.o"))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := img.Symbols.Named("finish")
	code := img.Segments.Code(s.Addr)[:8]
	i := bytes.Index(data, code)
	data[i+4]++
	opt.DebugDirs = []string{t.TempDir()}
	if err := os.WriteFile(filepath.Join(opt.DebugDirs[0], "parser.o"), data, 0o666); err != nil {
		t.Fatal(err)
	}
	if obj, _, err := open().Debug.Object(s.Addr); obj != nil || err == nil || !strings.Contains(err.Error(), "the code of finish differs") {
		t.Errorf("a changed object file: %v", err)
	}
}

// FuzzObject: whatever an archive or an object file says, reading it ends and never panics.
func FuzzObject(f *testing.F) {
	whole := machofile.File{Type: mhObject, Text: []machofile.Section{machofile.Code("__text", 0x40)}, Symbols: []machofile.Symbol{sym("_f", nSect|nExt, 1, machofile.TextAt)}}
	object := whole.Bytes()
	f.Add(object)
	header := "#1/4                                            " + "8200      `\n"
	f.Add(append([]byte(archiveMagic+header+"x.o\x00"), object...))
	opt := options()
	f.Fuzz(func(t *testing.T, data []byte) {
		member := ""
		if isArchive(data) {
			member = "x.o"
		}
		o, err := newObject(&image.File{Name: "fuzz", Data: data}, member, &opt)
		if err != nil {
			return
		}
		theirs := o.file.symbols()
		if s, ok := theirs.named("f"); ok {
			sameCode(make([]byte, 64), 64, o, &s)
		}
	})
}
