package minidump

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/breakpad"
	"github.com/backsight/backsight/target"
)

// TestOtherBuild: a symbol file with another identifier is used where the dump's may be a hash of the code, and no captured
// call goes into the middle of one of the functions that the file names.
//
//	401000 caller:  call 401100 or 401104
//	401100 callee:  32 bytes
func TestOtherBuild(t *testing.T) {
	archs := cpu.Set(x86.Archs())
	arch, _ := archs.ByName("x86_64", "", false)
	dir := t.TempDir()
	text := "MODULE Linux x86_64 000000000000000000000000000000010 app\nFUNC 1000 20 0 caller\nFUNC 1100 20 0 callee\n"
	if err := os.WriteFile(filepath.Join(dir, "app.sym"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what        string
		id          identity
		call        byte // the distance
		used, named bool
	}{
		{"may be a hash", identity{guid: []byte("a hash of text 1")}, 0xfb, true, true},
		{"a build ID", identity{buildID: []byte("a whole build ID 123")}, 0xfb, false, false},
		{"a call into the middle", identity{guid: []byte("a hash of text 1")}, 0xff, false, false},
		{"without identity", identity{}, 0xfb, true, true},
	} {
		files := input.NewFiles(input.FileOptions{Archs: archs, Formats: []image.Format{breakpad.Format()}})
		defer files.Close()
		if err := files.ReadSymbols([]string{dir}); err != nil {
			t.Fatal(err)
		}
		f := finder{dump: &dump{room: newRoom(0)}, files: files, arch: arch, maps: []mapping{{Range: target.Range{Lo: 0x40_0000, Hi: 0x40_2000}, exec: true}},
			runs: []run{{0x40_1000, []byte{0xe8, c.call, 0, 0, 0, 0xc3}}}}
		img, named := f.symbols(&module{Range: target.Range{Lo: 0x40_0000, Hi: 0x40_2000}, name: "app", id: c.id})
		if (img != nil) != c.used || named != c.named || len(f.dump.issues) != min(1, len(c.id.key())) {
			t.Errorf("%s: used %t, by its name %t, %v", c.what, img != nil, named, f.dump.issues)
		}
	}
}
