package pdb

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/pe"
	"github.com/backsight/backsight/internal/synth/pdbfile"
	"github.com/backsight/backsight/internal/synth/pefile"
)

const build = "GUID of 16 bytes\x01\x00\x00\x00"

// library has two modules of code from 1000 on. The first has procedures and lines, the second a public name alone.
//
//	1010  outer(): area() inlined in twice(), inlined in it
//	1040  static_one()
//	1080  ?second@@YAXXZ
func library() *pdbfile.File {
	const lines, files, inlines = 0xf2, 0xf4, 0xf6
	area := pdbfile.Site(0x1002, []byte{6, 2, 3, 4, 4, 2}) // line +1, code +4, two bytes
	twice := pdbfile.Site(0x1001, []byte{11, 0x24, 3, 4, 4, 4}, area)
	outer := pdbfile.Procedure(0, 0x10, 0x20, "outer", twice)
	static := pdbfile.Procedure(uint32(len(outer)), 0x40, 0x10, "static_one")
	f := &pdbfile.File{
		Machine:  pefile.X64,
		Sections: []pdbfile.Section{{RVA: 0x1000, Size: 0x100, Code: true}, {RVA: 0x2000, Size: 0x100}},
		Modules: []pdbfile.Module{
			{Parts: []pdbfile.Part{{Section: 1, Offset: 0, Size: 0x80}}, Symbols: append(outer, static...), Lines: pdbfile.Join(
				pdbfile.Subsection(files, pdbfile.U32(1), []byte{0, 0, 0, 0}, pdbfile.U32(5), []byte{0, 0, 0, 0}),
				pdbfile.Subsection(lines, pdbfile.U32(0x10), pdbfile.U16(1, 0), pdbfile.U32(0x20), pdbfile.U32(0, 3, 36, 0, 10, 4, 12|1<<31, 0x10, 0xf00f00)),
				pdbfile.Subsection(inlines, pdbfile.U32(0), pdbfile.U32(0x1001, 0, 20), pdbfile.U32(0x1002, 8, 30)),
			)},
			{Parts: []pdbfile.Part{{Section: 1, Offset: 0x80, Size: 0x20}}},
		},
		Publics: pdbfile.Join(pdbfile.Public(1, 0x80, "?second@@YAXXZ"), pdbfile.Public(1, 0x10, "outer"), pdbfile.Public(2, 0, "data")),
		Names:   []byte("\x00a.c\x00b.h\x00"),
		IDs: pdbfile.Join(pdbfile.Record(leafString, pdbfile.U32(0), []byte("ns\x00")),
			pdbfile.Record(leafFunction, pdbfile.U32(0x1000, 0), []byte("twice\x00")),
			pdbfile.Record(leafMember, pdbfile.U32(0x1000, 0), []byte("area\x00"))),
		Types: pdbfile.Record(leafStructure, pdbfile.U16(0, 0), pdbfile.U32(0, 0, 0), pdbfile.U16(4), []byte("Box\x00")),
	}
	copy(f.ID[:], build)
	return f
}

func parse(t *testing.T, data []byte) (*image.Image, error) {
	t.Helper()
	return image.Parse("a.pdb", data, []image.Format{Format()}, image.Options{Archs: x86.Archs()})
}

// TestNames: procedures have an end; public names reach to the end of what their module contributed. Scattered blocks change nothing.
func TestNames(t *testing.T) {
	for _, scattered := range []bool{false, true} {
		f := library()
		f.Scattered = scattered
		img, err := parse(t, f.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for addr, want := range map[uint64]string{
			0x100f: "", 0x1010: "outer", 0x102f: "outer", 0x1030: "", 0x1044: "static_one", 0x107f: "", 0x1090: "?second@@YAXXZ", 0x10a0: "", 0x2000: "", 1 << 40: "",
		} {
			if s, _ := img.Symbols.At(addr); s.Name != want {
				t.Errorf("%#x is %q, want %q", addr, s.Name, want)
			}
		}
		if s, ok := img.Symbols.Named("?second@@YAXXZ"); !ok || s.Addr != 0x1080 {
			t.Errorf("%+v", s)
		}
		var starts []uint64
		img.Symbols.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
			starts = append(starts, addr)
			return true
		})
		if !slices.Equal(starts, []uint64{0x1010, 0x1040, 0x1010, 0x1080}) {
			t.Errorf("functions %#x", starts)
		}
		if !img.Hollow() || string(img.BuildID) != build || img.Arch.Name != "x86_64" || !img.Segments.Executable(0x1000) || img.Segments.Executable(0x2000) {
			t.Errorf("%v %q %v %+v", img.Hollow(), img.BuildID, img.Arch, img.Segments)
		}
	}
}

// TestLines: of each inlined call the place in the function, and of the outermost where it was called.
func TestLines(t *testing.T) {
	img, _ := parse(t, library().Bytes())
	place := func(file string, line int) image.SourcePlace { return image.SourcePlace{File: file, Line: line} }
	for _, c := range []struct {
		addr    uint64
		place   image.SourcePlace
		inlines []image.InlinedCall
	}{
		{0x1010, place("a.c", 10), nil},
		{0x1014, place("a.c", 12), []image.InlinedCall{{Function: "Box::area", SourcePlace: place("b.h", 31)}, {Function: "ns::twice", SourcePlace: place("a.c", 21)}}},
		{0x1016, place("a.c", 12), []image.InlinedCall{{Function: "ns::twice", SourcePlace: place("a.c", 21)}}},
		{0x101c, place("a.c", 12), nil},
		{0x1020, place("a.c", 0), nil}, // 0xf00f00: no line
	} {
		l, ok := img.Debug.LineAt(c.addr)
		if !ok || l.SourcePlace != c.place || !slices.Equal(l.Inlines, c.inlines) {
			t.Errorf("%#x: %+v, want %+v %+v", c.addr, l, c.place, c.inlines)
		}
	}
	if l, ok := img.Debug.LineAt(0x1080); ok {
		t.Errorf("a module without lines: %+v", l)
	}
}

// rearranged is the library behind a tool that took outer() apart and moved the rest to a section of its own.
//
//	source 1000 1010 outer 101c outer 1030   1040 static_one   1080 second
//	now    5000 5040       1000              5080              50a0
func rearranged() *pdbfile.File {
	f := library()
	f.Moved = []pdbfile.Section{{RVA: 0x1000, Size: 0x40, Code: true}, {RVA: 0x2000, Size: 0x100}, {RVA: 0x5000, Size: 0x100, Code: true}}
	f.FromSource = []uint32{0x1000, 0x5000, 0x1010, 0x5040, 0x101c, 0x1000, 0x1030, 0, 0x1040, 0x5080, 0x1050, 0, 0x1080, 0x50a0, 0x10a0, 0}
	f.ToSource = []uint32{0x1000, 0x101c, 0x1014, 0, 0x5000, 0x1000, 0x5010, 0, 0x5040, 0x1010, 0x504c, 0, 0x5080, 0x1040, 0x5090, 0, 0x50a0, 0x1080, 0x50c0, 0}
	f.Frames = pdbfile.Join(pdbfile.U32(0x1010, 0x20, 12, 8, 0, 1), pdbfile.U16(2, 4), pdbfile.U32(0))
	return f
}

// TestMoved: a function that was moved keeps its name and lines; of one that was taken apart each piece has them.
func TestMoved(t *testing.T) {
	img, err := parse(t, rearranged().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		addr, begin, size uint64
		name              string
		line, inlined     int
	}{
		{0x5044, 0x5040, 0xc, "outer", 12, 2}, {0x1000, 0x1000, 0x14, "outer", 12, 0}, {0x5084, 0x5080, 0x10, "static_one", 0, 0},
		{0x50a8, 0x50a0, 0, "?second@@YAXXZ", 0, 0}, {addr: 0x1018}, {addr: 0x5090}, {addr: 0x800},
	} {
		s, _ := img.Symbols.At(c.addr)
		l, _ := img.Debug.LineAt(c.addr)
		if s != (image.Symbol{Name: c.name, Addr: c.begin, Size: c.size}) || l.Line != c.line || len(l.Inlines) != c.inlined {
			t.Errorf("%#x: %+v, line %d with %d calls", c.addr, s, l.Line, len(l.Inlines))
		}
	}
	if s, ok := img.Symbols.Named("?second@@YAXXZ"); !ok || s.Addr != 0x50a0 {
		t.Errorf("%+v", s)
	}
	if !img.Segments.Executable(0x5000) || img.Segments.Executable(0x1050) {
		t.Errorf("%+v", img.Segments)
	}
	c, _ := image.ContainerAs[hollow](img.Container())
	if words, _, ok := c.StackWin(0x5044); !ok || string(words[0]) != "5040" {
		t.Errorf("%q", words)
	}
}

// TestAnnotations: rows end where the next begins or after their length, from which the next counts, or does not.
func TestAnnotations(t *testing.T) {
	all := pdbfile.Join(
		[]byte{opChangeCodeOffset, 4}, // 4 to 8: line 0
		[]byte{opCodeAndLineOffset, 4<<4 | 4},
		[]byte{opCodeLength, 2},                     // 8 to 10: line 2
		[]byte{opFile, 8, opLineOffset, 3},          // line 1, another file
		[]byte{opLengthAndCodeOffset, 0x80, 200, 6}, // 16 to 216
		[]byte{opLengthAndCodeOffset, 2, 0x80, 204}, // 220, counted from 16, to 222
		[]byte{opCodeOffset, 0xc0, 1, 0, 0, opChangeCodeOffset, 0, opLineOffset, 0x80, 200, opCodeLength, 1}, // 65536: line 101
	)
	for offset, want := range map[uint32]site{
		3: {}, 4: {covered: true}, 8: {line: 2, covered: true}, 10: {}, 16: {line: 1, file: 8, covered: true},
		215: {line: 1, file: 8, covered: true}, 216: {}, 220: {line: 1, file: 8, covered: true}, 222: {}, 65536: {line: 1, file: 8, covered: true}, 65537: {},
	} {
		var in site
		records(pdbfile.Record(symInlineSite, pdbfile.U32(0, 0, 0), all), 0, 1, func(r record) bool {
			in = siteOf(r, offset)
			return true
		})
		if in != want {
			t.Errorf("%d: %+v, want %+v", offset, in, want)
		}
	}
}

// binary is a PE file whose database is a.pdb.
func binary(database string) []byte {
	debug := append(pefile.U32(0, 0, 0, 2, 0x20, 0x201c, 0x201c), "RSDS"+build+database+"\x00"+strings.Repeat("\x00", 16)...)
	f := &pefile.File{Machine: pefile.X64, Base: 0x1_4000_0000, Sections: []pefile.Section{
		{Name: ".text", Data: make([]byte, 0x100), Flags: pefile.Code}, {Name: ".rdata", Data: debug, Flags: pefile.ReadOnly},
	}, Directories: map[int][2]uint32{pefile.Debug: {0x2000, 28}}}
	return f.Bytes()
}

// TestNamed: a binary's database lies beside it, or in a directory plain or as symbol servers have it; one of another build is not
// taken.
func TestNamed(t *testing.T) {
	other := library()
	other.ID[16]++
	const id = "444955476F2020663136206279746573" + "1"
	for place, want := range map[string]string{
		"bin/a.pdb": "outer", "bin/app.pdb": "outer", "debug/a.pdb": "outer", "debug/a.pdb/" + id + "/a.pdb": "outer",
		"out/a.pdb": "", "bin/other/a.pdb": "",
	} {
		dir := t.TempDir()
		for path, data := range map[string][]byte{"bin/app.exe": binary(`C:\out\a.pdb`), place: library().Bytes(), "debug/x/a.pdb": other.Bytes()} {
			path = filepath.Join(dir, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		opt := image.Options{Archs: x86.Archs(), DebugDirs: []string{filepath.Join(dir, "debug/x"), filepath.Join(dir, "debug")}}
		img, err := image.Open(filepath.Join(dir, "bin/app.exe"), []image.Format{Named(pe.Format())}, opt)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := img.Symbols.At(0x1_4000_1011)
		if l, _ := img.Debug.LineAt(0x1_4000_1011); s.Name != want || (l.Line == 10) != (want != "") {
			t.Errorf("%s: %q, line %d", place, s.Name, l.Line)
		}
		if err := img.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestUnnamed: a binary that names no database may have one of its own name; no name leads to a directory.
func TestUnnamed(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{"app.exe": binary(""), "app.pdb": library().Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	img, err := image.Open(filepath.Join(dir, "app.exe"), []image.Format{Named(pe.Format())}, image.Options{Archs: x86.Archs()})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	if s, _ := img.Symbols.At(0x1_4000_1011); s.Name != "outer" {
		t.Errorf("%q", s.Name)
	}
	if names := (&companion{name: ".."}).names(); len(names) != 0 {
		t.Errorf("%q", names)
	}
}

// TestFrames: of 32-bit x86 the smallest of the records around an address, as words of Breakpad's.
func TestFrames(t *testing.T) {
	f := library()
	f.Machine = pefile.I386
	f.Names = []byte("\x00$T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + =  $23 $T0 16 - ^ = \x00")
	f.Frames = pdbfile.Join(pdbfile.U32(0x1000, 0x80, 12, 8, 0, 1), pdbfile.U16(2, 4), pdbfile.U32(0),
		pdbfile.U32(0x1010, 0x20, 12, 8, 0, 1), pdbfile.U16(0, 8), pdbfile.U32(0), pdbfile.U32(0x1018, 2, 12, 8, 0, 1), pdbfile.U16(0, 12), pdbfile.U32(0))
	img, err := parse(t, f.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c, _ := image.ContainerAs[interface {
		StackWin(addr uint64) (words [][]byte, frameData, ok bool)
	}](img.Container())
	const program = " 1 $T0 .raSearch = $eip $T0 ^ = $esp $T0 4 + = $esi $T0 16 - ^ ="
	for addr, want := range map[uint64]string{0xfff: "", 0x1000: "1000 80 2 0 8 4 c 0" + program, 0x1017: "1010 20 0 0 8 8 c 0" + program,
		0x1018: "1018 2 0 0 8 c c 0" + program, 0x1020: "1010 20 0 0 8 8 c 0" + program, 0x1080: ""} {
		words, _, ok := c.StackWin(addr)
		if got := string(bytes.Join(words, []byte(" "))); got != want || ok != (want != "") {
			t.Errorf("%#x: %q, want %q", addr, got, want)
		}
	}
	if img.Table(image.StackCFI).Size != 0x2100 {
		t.Errorf("%+v", img.Tables)
	}
}

// TestRefused: one line says what is wrong.
func TestRefused(t *testing.T) {
	whole := library().Bytes()
	broken := func(at int, v byte) []byte {
		b := bytes.Clone(whole)
		b[at] = v
		return b
	}
	vax := library()
	vax.Machine = 0x166
	for _, c := range []struct {
		data []byte
		want string
	}{
		{whole[:40], "a.pdb: offset 0x20: the superblock is broken"},
		{broken(33, 3), "a.pdb: offset 0x20: the superblock is broken"},
		{broken(47, 0xff), "a.pdb: offset 0x2c: a directory of 4278190"},
		{broken(53, 0xff), "a.pdb: offset 0x1fe0200: the directory's blocks lie beyond the end of the file"},
		{vax.Bytes(), "a.pdb: offset 0x0: unsupported processor: machine 0x166"},
	} {
		if _, err := parse(t, c.data); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// FuzzPDB: whatever a file says, reading it ends and never panics.
func FuzzPDB(f *testing.F) {
	f.Add(library().Bytes())
	f.Add(rearranged().Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := parse(t, data)
		if err != nil {
			return
		}
		defer img.Close()
		img.Symbols.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
			img.Symbols.At(addr)
			img.Debug.LineAt(addr + 4)
			if c, ok := image.ContainerAs[hollow](img.Container()); ok {
				c.StackWin(addr)
			}
			return addr%7 != 0
		})
		img.Symbols.Named("outer")
	})
}

// TestScoped: the scope without a name has the name that it has in decorated names, whatever the file.
func TestScoped(t *testing.T) {
	for name, want := range map[string]string{
		"start":                    "start",
		"?A0xc3a0617d::start":      "`anonymous namespace'::start",
		"net::?A0x1f2e::Box::~Box": "net::`anonymous namespace'::Box::~Box",
		"operator?A0x":             "operator?A0x",
	} {
		if got := scoped(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
