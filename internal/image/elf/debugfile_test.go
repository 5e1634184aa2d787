package elf

import (
	"hash/crc32"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/backsight/backsight/image"
)

// stripped is an executable with a build ID and a debug link, debug the file
// with what was taken from it.
func stripped(id []byte, link string, crc uint32) []byte {
	e := build{wide: true}
	b := e.buf()
	b.b = append(b.b, link...)
	b.b = append(b.b, make([]byte, 4-len(link)%4)...)
	b.u32(crc)
	e.secs = []sec{
		{name: ".note.gnu.build-id", data: e.note(id)}, text(0x1000, 0x100), {name: ".gnu_debuglink", data: b.b},
	}
	if id == nil {
		e.secs = e.secs[1:]
	}
	return e.bytes()
}

func debug(id []byte) []byte {
	e := build{wide: true, noSegments: true}
	e.secs = append([]sec{
		{name: ".note.gnu.build-id", data: e.note(id)},
		{name: ".text", typ: shtNobits, flags: shfAlloc | shfExecinstr, addr: 0x1000, size: 0x100},
		{name: ".debug_info", data: []byte("info")},
		{name: ".eh_frame", flags: shfAlloc, addr: 0x2000, data: []byte("not here")},
	}, e.symtab(".symtab", ".strtab", tsym{name: "f", value: 0x1010, size: 16, info: localFunc, shndx: 2})...)
	if id == nil {
		e.secs[0].name = ".note"
	}
	return e.bytes()
}

func TestDebugFiles(t *testing.T) {
	id, other := []byte{0xab, 0xcd, 0xef, 1}, []byte{9, 9, 9, 9}
	crc := crc32.ChecksumIEEE(debug(nil))
	for _, tt := range []struct {
		name  string
		main  []byte
		place string // below the root; {bin} is the directory of the binary
		debug []byte
		opt   image.Options
		found bool
	}{
		{"build ID", stripped(id, "x", 0), "debug/.build-id/ab/cdef01.debug", debug(id), image.Options{}, true},
		{"build ID of another", stripped(id, "x", 0), "debug/.build-id/ab/cdef01.debug", debug(other), image.Options{}, false},
		{"link beside", stripped(nil, "x.debug", crc), "bin/x.debug", debug(nil), image.Options{}, true},
		{"link in .debug", stripped(nil, "x.debug", crc), "bin/.debug/x.debug", debug(nil), image.Options{}, true},
		{"link below the debug directory", stripped(nil, "x.debug", crc), "debug{bin}/x.debug", debug(nil), image.Options{}, true},
		{"wrong CRC", stripped(nil, "x.debug", crc+1), "bin/x.debug", debug(nil), image.Options{}, false},
		{"build ID instead of CRC", stripped(id, "x.debug", 0), "bin/x.debug", debug(id), image.Options{}, true},
		{"link to another build", stripped(id, "x.debug", 0), "bin/x.debug", debug(other), image.Options{}, false},
		{"link out of the directory", stripped(nil, "../x.debug", crc), "x.debug", debug(nil), image.Options{}, false},
		{"not wanted", stripped(id, "x", 0), "debug/.build-id/ab/cdef01.debug", debug(id), image.Options{NoDebugFiles: true}, false},
		{"damaged", stripped(nil, "x.debug", crc), "bin/x.debug", debug(nil)[:100], image.Options{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			bin := filepath.Join(root, "bin")
			place := filepath.Join(root, tt.place)
			if tt.place == "debug{bin}/x.debug" {
				place = filepath.Join(root, "debug", bin, "x.debug")
			}
			write(t, filepath.Join(bin, "prog"), tt.main)
			write(t, place, tt.debug)
			tt.opt.Archs, tt.opt.DebugDirs = testArchs(), []string{filepath.Join(root, "debug")}
			img, err := Open(filepath.Join(bin, "prog"), tt.opt)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := img.Sections.Loaded(".debug_info"); ok {
				t.Error("a section of the debug file is said to be loaded")
			}
			s, _ := img.Symbols.At(0x1014)
			info, ok := img.Sections.Named(".debug_info")
			if found := s.Name == "f" && ok && string(info.Data) == "info"; found != tt.found {
				t.Errorf("symbol %q, .debug_info %q; want them: %t", s.Name, info.Data, tt.found)
			}
			if _, ok := img.Sections.Named(".eh_frame"); ok {
				t.Error("a loaded section came from the debug file")
			}
			if err := img.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDebugFileBelowRoot: of a binary below another machine's root, DEBUGDIR/usr/bin is
// searched for /usr/bin, and the root decides what a path leads to there: nothing, where
// a link leads out of it.
func TestDebugFileBelowRoot(t *testing.T) {
	crc := crc32.ChecksumIEEE(debug(nil))
	for _, leads := range []bool{true, false} {
		root := t.TempDir()
		write(t, filepath.Join(root, "usr/bin/prog"), stripped(nil, "x.debug", crc))
		write(t, filepath.Join(root, "debug/usr/bin/x.debug"), debug(nil))
		opt := image.Options{Archs: testArchs(), DebugDirs: []string{filepath.Join(root, "debug")}}
		opt.Roots = []image.Root{{Dir: root, Resolve: func(path string) (string, bool) { return filepath.Join(root, path), leads }}}
		img, err := Open(filepath.Join(root, "usr/bin/prog"), opt)
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := img.Symbols.At(0x1014); (s.Name == "f") != leads {
			t.Errorf("symbol %q; the path leads to a file: %v", s.Name, leads)
		}
		if err := img.Close(); err != nil {
			t.Error(err)
		}
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLoadedSymbol: what a library shows to others is asked of the library, and its debug file, which may be far away, is not
// looked for. A file without symbols has those of its debug file.
func TestLoadedSymbol(t *testing.T) {
	id := []byte{0xab, 0xcd, 0xef, 1}
	for _, tt := range []struct {
		name     string
		exported []tsym
		ask      string
		found    bool
		sought   bool // the debug file
	}{
		{"exported", []tsym{{name: "shown", value: 0x1020, size: 8, info: globalFunc, shndx: 2}}, "shown", true, false},
		{"not exported", []tsym{{name: "shown", value: 0x1020, size: 8, info: globalFunc, shndx: 2}}, "f", false, false},
		{"imported", []tsym{{name: "f", info: globalFunc}}, "f", false, false},
		{"static, stripped", nil, "f", true, true},
	} {
		e := build{wide: true}
		e.secs = []sec{{name: ".note.gnu.build-id", data: e.note(id)}, text(0x1000, 0x100)}
		if tt.exported != nil {
			e.secs = append(append(e.secs, e.symtab(".dynsym", ".dynstr", tt.exported...)...), e.hashSection(1, "shown"))
		}
		root := t.TempDir()
		write(t, filepath.Join(root, "prog"), e.bytes())
		sought := false
		write(t, filepath.Join(root, "prog.debug"), debug(id))
		img, err := Open(filepath.Join(root, "prog"), image.Options{Archs: testArchs(), ByBuildID: func([]byte) iter.Seq[string] {
			sought = true
			return slices.Values([]string{filepath.Join(root, "prog.debug")})
		}})
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := img.Symbols.Loaded(tt.ask); ok != tt.found || ok && s.Name != tt.ask || sought != tt.sought {
			t.Errorf("%s: %+v, %t; the debug file was looked for: %t", tt.name, s, ok, sought)
		}
		if s, ok := img.Symbols.Named("f"); !ok || s.Addr != 0x1010 {
			t.Errorf("%s: the debug file has f: %+v, %t", tt.name, s, ok)
		}
		if err := img.Close(); err != nil {
			t.Error(err)
		}
	}
}
