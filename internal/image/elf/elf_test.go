package elf

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
)

func parseAs(name string, data []byte) (*image.Image, error) {
	return open(&image.File{Name: name, Data: data}, options())
}

func parse(t testing.TB, data []byte) *image.Image {
	t.Helper()
	img, err := parseAs("test", data)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestSegments: loaded segments come in order of address, in each class and byte order.
func TestSegments(t *testing.T) {
	for _, e := range []build{
		{}, {big: true, machine: emMIPS}, {wide: true}, {wide: true, big: true, machine: emMIPS},
	} {
		e.entry = 0x1004
		e.secs = []sec{
			{name: ".data", flags: shfAlloc | shfWrite, addr: 0x3000, data: []byte("data"), size: 0x100},
			text(0x1000, 16),
		}
		img := parse(t, e.bytes())
		if len(img.Segments) != 2 || img.Entry != 0x1004 || img.Relocatable {
			t.Fatalf("header = %+v", img.Header)
		}
		code, data := img.Segments[0], img.Segments[1]
		if code.Addr != 0x1000 || code.Size != 16 || !code.Exec || code.Write || len(code.Data) != 16 {
			t.Errorf("code = %+v", code)
		}
		if data.Addr != 0x3000 || data.Size != 0x100 || data.Exec || !data.Write || string(data.Data) != "data" {
			t.Errorf("data = %+v", data)
		}
		raw := e.bytes()
		if at := data.FileOff; string(raw[at:at+4]) != "data" {
			t.Errorf("FileOff = %#x", at)
		}
	}
}

// A kernel is an ET_EXEC file in the upper half of the address space; the last
// segment may end at its very top.
func TestKernelAddresses(t *testing.T) {
	for _, e := range []build{
		{big: true, machine: emMIPS, secs: []sec{text(0x80100000, 16), text(0xfffffff0, 16)}},
		{wide: true, secs: []sec{text(0xffffffff81000000, 16), text(0xfffffffffffffff0, 15)}},
		{wide: true, machine: emMIPS, secs: []sec{text(0xffffffff80100000, 16)}},
	} {
		img := parse(t, e.bytes())
		for i, s := range e.secs {
			if !img.Segments.Executable(s.addr+4) || len(img.Segments.Code(s.addr+4)) != len(s.data)-4 {
				t.Errorf("%d: no code at %#x", i, s.addr+4)
			}
		}
	}
}

func TestNoProgramHeaders(t *testing.T) {
	e := build{noSegments: true, secs: []sec{text(0x1000, 16), {name: ".comment", data: []byte("x")}}}
	img := parse(t, e.bytes())
	if len(img.Segments) != 1 || !img.Segments.Executable(0x1008) {
		t.Errorf("segments = %+v", img.Segments)
	}
}

func TestProgramHeaderRanges(t *testing.T) {
	e := build{typ: etDyn, wide: true, noSections: true, secs: []sec{
		text(0x1000, 16),
		{name: "interp", flags: shfAlloc, addr: 0x2000, data: []byte("/lib/ld.so\x00")},
		{name: "dynamic", flags: shfAlloc, addr: 0x3000, data: make([]byte, 32)},
		// version 1, pcrel sdata4: .eh_frame is at 0x4004+0xffc = 0x5000
		{name: "hdr", flags: shfAlloc, addr: 0x4000, data: []byte{1, 0x1b, 3, 0x3b, 0xfc, 0x0f, 0, 0, 0, 0, 0, 0}},
		{name: "eh", flags: shfAlloc, addr: 0x5000, data: []byte("eh_frame")},
	}, phdrs: []ph{{ptInterp, "interp"}, {ptDynamic, "dynamic"}, {ptGNUEHFrame, "hdr"}, {ptPhdr, "hdr"}}}
	img := parse(t, e.bytes())
	link := LinkInfoOf(img)
	if link.Interp != "/lib/ld.so" || !img.Interpreted || !img.Relocatable {
		t.Errorf("header = %+v, %+v", img.Header, link)
	}
	if want := (image.Range{Addr: 0x4000, Size: 12}); img.Table(image.EHFrameHdr).Range != want || link.PHdr != want {
		t.Errorf("tables = %v, PHdr = %v", img.Tables, link.PHdr)
	}
	for name, want := range map[string]uint64{".dynamic": 0x3000, ".eh_frame_hdr": 0x4000, ".eh_frame": 0x5000} {
		s, ok := img.Sections.Named(name)
		if !ok || s.Addr != want {
			t.Errorf("%s = %+v, %t", name, s, ok)
		}
	}
	if s, _ := img.Sections.Named(".eh_frame"); string(s.Data) != "eh_frame" || !s.NoEnd {
		t.Errorf(".eh_frame = %q, no end: %t", s.Data, s.NoEnd)
	}
	if _, ok := img.Sections.Named(".debug_info"); ok {
		t.Error(".debug_info found")
	}
}

// Without PT_PHDR, as in static executables, AT_PHDR points into the segment that
// holds the program headers' file range.
func TestProgramHeadersInSegment(t *testing.T) {
	raw := (&build{secs: []sec{text(0x1000, 16)}}).bytes()
	raw[52+4] = 0 // p_offset 0: the segment begins with the ELF header
	img := parse(t, raw)
	if phdr := LinkInfoOf(img).PHdr; phdr != (image.Range{Addr: 0x1000 + 52, Size: 32}) && len(img.Segments[0].Data) >= 52 {
		t.Errorf("PHdr = %+v", phdr)
	}
}

func TestBuildID(t *testing.T) {
	id := []byte{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4}
	e := build{big: true, machine: emMIPS}
	note := e.note(id)
	property := e.buf() // .note.gnu.property: padded to 8
	property.u32(4, 16, 5)
	property.b = append(append(property.b, "GNU\x00"...), make([]byte, 16)...)
	for _, tt := range []struct {
		name  string
		sec   sec
		phdrs []ph
		want  []byte
	}{
		{"segment", sec{name: "any", data: note}, []ph{{ptNote, "any"}}, id},
		{"second note", sec{name: "any", data: append(property.b, note...)}, []ph{{ptNote, "any"}}, id},
		{"section", sec{name: ".note.gnu.build-id", data: note}, nil, id},
		{"cut", sec{name: ".note.gnu.build-id", data: note[:20]}, nil, nil},
		{"other owner", sec{name: ".note.gnu.build-id", data: bytes.Replace(note, []byte("GNU"), []byte("Go\x00"), 1)}, nil, nil},
	} {
		e.secs, e.phdrs = []sec{text(0x1000, 16), tt.sec}, tt.phdrs
		if img := parse(t, e.bytes()); !bytes.Equal(img.BuildID, tt.want) {
			t.Errorf("%s: build ID = %x, want %x", tt.name, img.BuildID, tt.want)
		}
	}
}

// eu-strip leaves p_offset and p_filesz in the debug file as they were in the
// executable: what lies there is not code.
func TestDebugFileHasNoCode(t *testing.T) {
	e := build{secs: []sec{
		{name: ".text", typ: shtNobits, flags: shfAlloc | shfExecinstr, addr: 0x1000, size: 16},
		{name: ".debug_info", data: []byte("not code")},
	}}
	img := parse(t, e.bytes())
	if img.Segments.Code(0x1000) != nil || !img.Segments.Executable(0x1000) {
		t.Errorf("code = %q", img.Segments.Code(0x1000))
	}
}

// TestRefused: what is wrong with a file is said, with the offset.
func TestRefused(t *testing.T) {
	ok := (&build{secs: []sec{text(0x1000, 16)}}).bytes()
	edit := func(off int, b ...byte) []byte {
		out := bytes.Clone(ok)
		copy(out[off:], b)
		return out
	}
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "f: offset 0x0: empty file"},
		{"text", []byte("hello, world"), "f: offset 0x0: not an ELF file"},
		{"magic only", []byte(magic), "offset 0x4"},
		{"class", edit(4, 3), "offset 0x4"},
		{"data", edit(5, 0), "offset 0x5"},
		{"half a header", ok[:40], "f: offset 0x28: the file ends within its ELF header"},
		{"header only", ok[:52], "f: offset 0x34: nothing in this file is loaded"},
		{"object file", edit(16, etRel), "relocatable object"},
		{"core", edit(16, etCore), "core file"},
		{"type", edit(16, 0x34, 0x12), "ELF type 4660"},
		{"machine", edit(18, 0xff, 0xff), "e_machine 65535"},
	} {
		_, err := parseAs("f", tt.data)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want %q", tt.name, err, tt.want)
		}
	}
}

// What is not a regular file is refused at once, and so is a huge one.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	sparse, empty := filepath.Join(dir, "sparse"), filepath.Join(dir, "empty")
	for path, size := range map[string]int64{sparse: 10 << 30, empty: 0} {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(size); err != nil {
			t.Skip("no sparse files here: ", err)
		}
		f.Close()
	}
	paths := []string{dir, sparse, empty, filepath.Join(dir, "absent")}
	if _, err := os.Stat("/dev/zero"); err == nil {
		paths = append(paths, "/dev/zero")
	}
	if p := filepath.Join(dir, "fifo"); makeFIFO(p) {
		paths = append(paths, p)
	}
	for _, path := range paths {
		img, err := Open(path, options()) // of a FIFO that nobody writes into, this must not wait
		if err == nil {
			img.Close()
			t.Errorf("%s opened", path)
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error does not name the file: %v", path, err)
		}
	}
}

func makeFIFO(path string) bool {
	return runTool("mkfifo", path) == nil
}

func TestOpenAndClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.out")
	if err := os.WriteFile(path, (&build{secs: []sec{text(0x1000, 16)}}).bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	img, err := Open(path, options())
	if err != nil {
		t.Fatal(err)
	}
	if img.Path != path || len(img.Segments.Code(0x1000)) != 16 {
		t.Errorf("image = %+v", img.Header)
	}
	if err := img.Close(); err != nil {
		t.Error(err)
	}
}
