package elf

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
)

// TestSupplement: the file that debug information shares with others is found where debuggers look,
// and is the one of the build ID.
func TestSupplement(t *testing.T) {
	id, other := []byte{0xab, 0xcd, 0xef, 1}, []byte{9, 9, 9, 9}
	for _, c := range []struct {
		name  string
		link  string // .gnu_debugaltlink's; ROOT is where all files are
		place string // below the root
		id    []byte
		found bool
	}{
		{"beside", "x.debug", "bin/x.debug", id, true},
		{"relative", "../share/x.debug", "share/x.debug", id, true},
		{"absolute", "ROOT/share/x.debug", "share/x.debug", id, true},
		{"in another debug directory", "/usr/lib/debug/.dwz/mips/x.debug", "debug/.dwz/mips/x.debug", id, true},
		{"not out of the debug directory", "/usr/lib/debug/.dwz/../../x.debug", "x.debug", id, false},
		{"build ID", "/nowhere/x.debug", "debug/.build-id/ab/cdef01.debug", id, true},
		{"build ID of another", "x.debug", "bin/x.debug", other, false},
		{"no name", "", "bin/x.debug", id, false},
		{"nowhere", "x.debug", "elsewhere/x.debug", id, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			link := strings.ReplaceAll(c.link, "ROOT", filepath.ToSlash(root))
			e := build{wide: true}
			e.secs = []sec{text(0x1000, 0x100), {name: ".gnu_debugaltlink", data: append([]byte(link+"\x00"), id...)}}
			path := filepath.Join(root, "bin/prog")
			write(t, path, e.bytes())
			s := build{wide: true, noSegments: true, typ: etRel}
			s.secs = []sec{{name: ".note.gnu.build-id", data: s.note(c.id)}, {name: ".debug_info", data: []byte("shared")}}
			write(t, filepath.Join(root, c.place), s.bytes())

			img, err := Open(path, image.Options{Archs: testArchs(), DebugDirs: []string{filepath.Join(root, "debug")}})
			if err != nil {
				t.Fatal(err)
			}
			defer img.Close()
			for range 2 {
				section, ok := img.Debug.Supplement()
				if ok != c.found || ok && string(section(".debug_info")) != "shared" {
					t.Errorf("found: %v, want %v", ok, c.found)
				}
			}
		})
	}
}

// FuzzSupplementLink reads what either section says of the file: a link that is used has a name and an ID.
func FuzzSupplementLink(f *testing.F) {
	f.Add([]byte("../share/x.debug\x00\xab\xcd\xef\x01"), false, false)
	f.Add([]byte("\x05\x00\x00x.debug\x00\x04\xab\xcd\xef\x01"), true, false)
	f.Add([]byte("\x00\x05\x00x\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), true, true)
	f.Fuzz(func(t *testing.T, data []byte, sup, big bool) {
		name := ".gnu_debugaltlink"
		if sup {
			name = ".debug_sup"
		}
		l, ok := readSupplementLink(func(n string) (image.Section, bool) { return image.Section{Data: data}, n == name }, big)
		if ok && (l.name == "" || len(l.id) == 0 || len(l.name)+len(l.id) > len(data)) {
			t.Errorf("%+v", l)
		}
	})
}
