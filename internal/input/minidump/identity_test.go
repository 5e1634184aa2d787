package minidump

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// TestIdentity: a file is the one that ran by the first part of its build ID, or by what Breakpad makes of its text.
func TestIdentity(t *testing.T) {
	id := []byte{0xae, 0x54, 0xdd, 0x75, 0xcc, 0x70, 0x2f, 0xe9, 0xee, 0x9c, 0x8d, 0x50, 0xae, 0x82, 0x18, 0xa8, 0xa6, 0x94, 0x92, 0xd5}
	guid := []byte{0x75, 0xdd, 0x54, 0xae, 0x70, 0xcc, 0xe9, 0x2f, 0xee, 0x9c, 0x8d, 0x50, 0xae, 0x82, 0x18, 0xa8}
	named := image.New(image.Header{BuildID: id}, nil)
	nameless := image.New(image.Header{}, nil)
	for _, c := range []struct {
		what string
		guid []byte
		img  *image.Image
		fits bool
	}{
		{"nothing is known", nil, named, true},
		{"the first sixteen bytes", id[:16], named, true},
		{"the same as a GUID", guid, named, true},
		{"another", slices.Repeat([]byte{1}, 16), named, false},
		{"a file that says nothing", id[:16], nameless, true},
	} {
		if got := (&identity{guid: c.guid}).fits(c.img); got != c.fits {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

// TestMaps: a module goes on where the next mapping of its file does; names may have spaces.
func TestMaps(t *testing.T) {
	const text = `00400000-00452000 r--p 00000000 08:02 173521      /usr/bin/my program
00452000-00460000 r-xp 00052000 08:02 173521      /usr/bin/my program
00460000-00470000 rw-p 00000000 00:00 0
7f0000000000-7f0000001000 r-xp 00000000 00:00 0          [vdso]
not a line
ffffffff-00000000 r-xp 00000000 00:00 0          /reversed
`
	d := dump{data: []byte(text), streams: map[uint32]location{linuxMaps: {uint32(len(text)), 0}}}
	maps := d.maps()
	if len(maps) != 3 || maps[1].off != 0x52000 || maps[1].path != "/usr/bin/my program" {
		t.Fatalf("%+v", maps)
	}
	if r := extent(maps, target.Range{Lo: 0x400000, Hi: 0x452000}); r.Hi != 0x460000 {
		t.Errorf("%+v", r)
	}
}

// TestKernels: names that writers give the kernel's shared object.
func TestKernels(t *testing.T) {
	for name, is := range map[string]bool{"linux-gate.so": true, "[vdso](0x7ffff7fc1000)": true, "linux-vdso.so.1": true, "/lib/libc.so.6": false} {
		if isKernels(name) != is {
			t.Errorf("%s: %v", name, !is)
		}
	}
}

// TestPathOf: a path of Windows becomes one below the sysroot; names of other systems stay.
func TestPathOf(t *testing.T) {
	for name, want := range map[string]string{
		`C:\Windows\System32\ntdll.dll`: "/Windows/System32/ntdll.dll", `\SystemRoot\x.sys`: "/SystemRoot/x.sys", "a.exe": "a.exe", `/usr/lib/a\b.so`: `/usr/lib/a\b.so`,
	} {
		if got := pathOf(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestSeen: a binary that is not at hand is what was mapped executable, with the bytes that the dump has.
func TestSeen(t *testing.T) {
	f := finder{dump: &dump{room: newRoom(0)}, runs: sorted([]run{{0x41_2000, make([]byte, 0x100)}, {0x40_1080, []byte("code around PC..")}, {0x40_0f00, make([]byte, 0x10)}}),
		maps: []mapping{{Range: target.Range{Lo: 0x40_0000, Hi: 0x40_1000}}, {Range: target.Range{Lo: 0x40_1000, Hi: 0x40_2000}, exec: true}}}
	img := f.seen(target.Range{Lo: 0x40_0000, Hi: 0x40_3000}, nil)
	want := []image.Range{{Addr: 0x1000, Size: 0x80}, {Addr: 0x1080, Size: 0x10}, {Addr: 0x1090, Size: 0xf70}}
	for i, s := range img.Segments {
		if i >= len(want) || (image.Range{Addr: s.Addr, Size: s.Size}) != want[i] || !s.Exec || len(s.Data) > 0 != (i == 1) {
			t.Errorf("segment %d: %+v", i, s)
		}
	}
	if len(img.Segments) != len(want) || !img.Hollow() || img.Symbols.HasFunctions() {
		t.Errorf("%d segments, hollow %t", len(img.Segments), img.Hollow())
	}
}

// TestSeenWithoutMappings: where no mappings are listed, as in Windows' dumps, nobody knows what lies between the code that the dump has.
// Where a symbol file names functions, all may be code.
func TestSeenWithoutMappings(t *testing.T) {
	f := finder{dump: &dump{room: newRoom(0)}, runs: sorted([]run{{0x40_1080, []byte("code around PC..")}})}
	symbols := image.New(image.Header{}, unnamed{})
	for _, named := range []*image.Image{nil, symbols} {
		img := f.seen(target.Range{Lo: 0x40_0000, Hi: 0x40_3000}, named)
		for _, at := range []uint64{0x1000, 0x1080, 0x1090} {
			s, ok := img.Segments.At(at)
			shown := at == 0x1080
			if !ok || s.Exec != (shown || named != nil) || s.Unknown() == s.Exec || len(s.Data) > 0 != shown {
				t.Errorf("symbols %t, %#x: %+v", named != nil, at, s)
			}
		}
	}
}

// TestKnown: of Windows the age is part of what a build is known by; Apple's tools have the bytes of Mach-O's UUID.
func TestKnown(t *testing.T) {
	guid := []byte("\x01\x02\x03\x04\x05\x06\x07\x08ABCDEFGH")
	for os, want := range map[string]string{"Linux": string(guid), "Windows": string(guid) + "\x03\x00\x00\x00", "macOS": "\x04\x03\x02\x01\x06\x05\x08\x07ABCDEFGH"} {
		id := identity{guid: guid, age: 3}
		if got := id.known(os); string(got) != want {
			t.Errorf("%s: %x, want %x", os, got, want)
		}
		if id = (identity{buildID: guid[:9]}); string(id.known(os)) != string(guid[:9]) {
			t.Errorf("%s: a build ID is %x", os, id.known(os))
		}
	}
}
