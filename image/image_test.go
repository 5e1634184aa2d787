package image

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/backsight/backsight/cpu"
)

func seg(addr, size uint64, data string) Segment {
	return Segment{Addr: addr, Size: size, Data: []byte(data), FileOff: 0x100}
}

func TestSegmentsAreDisjoint(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []Segment
		want []Segment
	}{
		{"sorted", []Segment{seg(0x20, 4, "b"), seg(0x10, 4, "a")}, []Segment{seg(0x10, 4, "a"), seg(0x20, 4, "b")}},
		{"the lower one keeps its range",
			[]Segment{seg(0x10, 4, "aaaa"), seg(0x12, 4, "bbbb")},
			[]Segment{seg(0x10, 4, "aaaa"), {Addr: 0x14, Size: 2, Data: []byte("bb"), FileOff: 0x102}}},
		{"covered", []Segment{seg(0x10, 8, "a"), seg(0x12, 4, "b")}, []Segment{seg(0x10, 8, "a")}},
		{"covered, then on", []Segment{seg(0x10, 8, "a"), seg(0x12, 2, "b"), seg(0x14, 8, "")},
			[]Segment{seg(0x10, 8, "a"), {Addr: 0x18, Size: 4, FileOff: 0x104}}},
		{"empty", []Segment{seg(0x10, 0, ""), seg(0x20, 1, "b")}, []Segment{seg(0x20, 1, "b")}},
		{"more data than size", []Segment{seg(0x10, 2, "abcd")}, []Segment{seg(0x10, 2, "ab")}},
		{"beyond the last address", []Segment{seg(^uint64(0)-3, 100, "abcdefgh")}, []Segment{seg(^uint64(0)-3, 3, "abc")}},
	} {
		img := New(Header{Segments: tt.in}, nil)
		if len(img.Segments) != len(tt.want) {
			t.Errorf("%s: %+v", tt.name, img.Segments)
			continue
		}
		for i, w := range tt.want {
			if g := img.Segments[i]; g.Addr != w.Addr || g.Size != w.Size || string(g.Data) != string(w.Data) || g.FileOff != w.FileOff {
				t.Errorf("%s: segment %d = %+v, want %+v", tt.name, i, g, w)
			}
		}
	}
}

// TestBytes: the bytes from an address on and before it, as code and as data, up to the segment's end in the file.
func TestBytes(t *testing.T) {
	img := New(Header{
		Arch:     &cpu.Arch{AddrSize: 4, BigEndian: true},
		Segments: []Segment{{Addr: 0x10, Size: 8, Data: []byte{1, 2, 3, 4, 5}, Exec: true}, seg(0x20, 2, "ab")},
	}, nil)
	for _, tt := range []struct {
		addr                uint64
		bytes, code, before int // lengths
	}{
		{0x0f, 0, 0, 0},
		{0x10, 5, 5, 0},
		{0x14, 1, 1, 3},
		{0x15, 0, 0, 3}, // zero-filled in memory, not in the file
		{0x18, 0, 0, 0},
		{0x20, 2, 0, 0},
		{0x22, 0, 0, 2},
		{0, 0, 0, 0},
	} {
		if n := len(img.Segments.Bytes(tt.addr)); n != tt.bytes {
			t.Errorf("Bytes(%#x): %d", tt.addr, n)
		}
		if n := len(img.Segments.Code(tt.addr)); n != tt.code {
			t.Errorf("Code(%#x): %d", tt.addr, n)
		}
		if n := len(img.Segments.Before(tt.addr, 3)); n != tt.before {
			t.Errorf("Before(%#x): %d", tt.addr, n)
		}
	}
	if w, ok := img.Word(0x11); w != 0x02030405 || !ok {
		t.Errorf("Word = %#x, %t", w, ok)
	}
	if _, ok := img.Word(0x12); ok {
		t.Error("a word beyond the data")
	}
	if lo, hi := img.Segments.Bounds(); lo != 0x10 || hi != 0x22 {
		t.Errorf("Bounds = %#x, %#x", lo, hi)
	}
}

func TestMemoMakesOnce(t *testing.T) {
	img := New(Header{}, nil)
	type key struct{ n int }
	var made atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 3 {
				if v := img.Memo(key{n}, func() any { made.Add(1); return n }); v != n {
					t.Errorf("goroutine %d: %v", i, v)
				}
			}
		})
	}
	wg.Wait()
	if made.Load() != 3 {
		t.Errorf("made %d times", made.Load())
	}
}

// letter is a format whose files begin with a letter and hold code for one processor.
func letter(c byte) Format {
	return Format{Name: string(c), Sniff: func(head []byte) bool { return head[0] == c },
		Open: func(f *File, _ Options) (*Image, error) {
			if len(f.Data) < 2 {
				return nil, f.Errorf(1, "nothing behind the letter")
			}
			return New(Header{Path: f.Name, Segments: []Segment{{Size: uint64(len(f.Data)), Data: f.Data}}}, nil), nil
		}}
}

// TestOpenByFormat: the first format that recognises a file opens it; what is wrong
// names the file, the offset and the reason.
func TestOpenByFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	formats := []Format{letter('a'), letter('b')}
	for content, want := range map[string]string{
		"":   path + ": offset 0x0: empty file",
		"xy": path + ": offset 0x0: unrecognised file",
		"a":  path + ": offset 0x1: nothing behind the letter",
		"ay": "",
		"by": "",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		img, err := Open(path, formats, Options{})
		if want == "" {
			if err != nil || string(img.Segments.Bytes(0)) != content {
				t.Errorf("%q: %v", content, err)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || err.Error() != want {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
	if _, err := Open(path+"x", formats, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
	if img, err := Parse("memory", []byte("by"), formats, Options{}); err != nil || img.Path != "memory" {
		t.Errorf("in memory: %v", err)
	}
	if _, err := Parse("memory", []byte("xy"), formats, Options{}); err == nil || err.Error() != "memory: offset 0x0: unrecognised file" {
		t.Errorf("in memory: %v", err)
	}
}

// TestErrorText: one line, of what is known.
func TestErrorText(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		err  Error
		want string
	}{
		{Error{Path: "f", Offset: 16, Reason: "why"}, "f: offset 0x10: why"},
		{Error{Path: "f", Offset: -1, Reason: "why", Err: cause}, "f: why: cause"},
		{Error{Offset: 0, Reason: "why"}, "offset 0x0: why"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if errors.Is(&c.err, cause) != (c.err.Err != nil) {
			t.Errorf("%q does not lead to its cause", c.want)
		}
	}
}
