package darwin

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/macho"
	"github.com/backsight/backsight/internal/synth/machofile"
)

// write puts a file into a directory, and returns its path.
func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// program is a program of a UUID with a function f, or its dSYM (file type 10).
func program(uuid byte, typ uint32) []byte {
	f := machofile.File{Type: typ, Text: []machofile.Section{machofile.Code("__text", 0x20)}, Extra: machofile.UUID(uuid), Count: 1,
		Symbols: []machofile.Symbol{{Name: "_f", Type: 0xf, Sect: 1, Value: machofile.TextAt}}}
	return f.Bytes()
}

// TestModules: a binary of a report is the file of its name, a file that the user named whatever
// it is called, or a dSYM; each only if it has the report's UUID.
func TestModules(t *testing.T) {
	const base = 0x1_0223_0000
	dir := t.TempDir()
	write(t, dir, "root/Applications/App.app/App", program(1, 0))
	named := write(t, dir, "build/other-name", program(1, 0))
	old := write(t, dir, "build/App", program(2, 0))
	const dsym = 10
	write(t, dir, "App.xcarchive/dSYMs/App.app.dSYM/Contents/Resources/DWARF/App", program(1, dsym))
	for what, tt := range map[string]struct {
		opt   input.FileOptions
		found bool
	}{
		"sysroot":          {input.FileOptions{Sysroots: []string{filepath.Join(dir, "root")}}, true},
		"the user's":       {input.FileOptions{Exe: named}, true},
		"of another build": {input.FileOptions{Exe: old}, false},
		"an old one too":   {input.FileOptions{Exe: old, Images: []input.NamedImage{{Path: named}}}, true},
		"dSYM":             {input.FileOptions{DebugDirs: []string{filepath.Join(dir, "App.xcarchive")}}, true},
		"none":             {input.FileOptions{}, false},
	} {
		tt.opt.Archs, tt.opt.Formats = x86.Archs(), []image.Format{macho.Format()}
		files := input.NewFiles(tt.opt)
		arch, _ := Arch(tt.opt.Archs, "X86-64 (Native)")
		modules, _ := Modules(files, arch, []Binary{{Name: "/Applications/App.app/App", Base: base, Size: 0x4000, UUID: bytes.Repeat([]byte{1}, 16)}})
		if len(modules) != 1 || (modules[0].Image != nil) != tt.found || modules[0].Lo != base {
			t.Errorf("%s: %+v", what, modules)
			continue
		}
		if m := modules[0]; tt.found {
			const pc = base + machofile.TextAt - machofile.Base + 4
			if s, _ := m.Image.Symbols.At(m.ToImage(pc)); s.Name != "f" {
				t.Errorf("%s: %q", what, s.Name)
			}
		}
		files.Close()
	}
}
