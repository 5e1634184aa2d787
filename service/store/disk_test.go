package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func body(text string) Body {
	return Body{sha256.Sum256([]byte(text)), int64(len(text)), func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

func openDisk(t *testing.T, dir string, opt Options) *Disk {
	t.Helper()
	d, err := OpenDisk(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func appended(t *testing.T, d *Disk, texts ...string) []Ref {
	t.Helper()
	var bodies []Body
	for _, s := range texts {
		bodies = append(bodies, body(s))
	}
	refs, err := d.Append(t.Context(), bodies)
	if err != nil {
		t.Fatal(err)
	}
	return refs
}

func read(t *testing.T, d *Disk, ref Ref) string {
	t.Helper()
	r, err := d.Open(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestKept: bodies are there after a start, in the clear and encrypted, and a Ref survives being text.
func TestKept(t *testing.T) {
	long := strings.Repeat("stack ", 50_000)
	for _, key := range [][]byte{nil, bytes.Repeat([]byte{7}, keySize)} {
		dir := t.TempDir()
		d := openDisk(t, dir, Options{Key: key})
		refs := append(appended(t, d, "one", ""), appended(t, d, long)...)
		_ = d.Close()
		d = openDisk(t, dir, Options{Key: key})
		refs = append(refs, appended(t, d, "later")...)
		for i, want := range []string{"one", "", long, "later"} {
			ref, err := ParseRef(refs[i].String())
			if err != nil || read(t, d, ref) != want {
				t.Errorf("key %v: body %d is another one (%v)", key != nil, i, err)
			}
		}
		file, err := os.ReadFile(d.path(1))
		if err != nil || bytes.Contains(file, []byte("stack stack")) != (key == nil) {
			t.Errorf("key %v: the text is to be read in the file: %v", key != nil, key != nil)
		}
	}
}

// TestWrongKey: what was altered or has another key gives no bytes.
func TestWrongKey(t *testing.T) {
	dir := t.TempDir()
	ref := appended(t, openDisk(t, dir, Options{Key: bytes.Repeat([]byte{7}, keySize)}), "secret")[0]
	for _, key := range [][]byte{nil, bytes.Repeat([]byte{8}, keySize)} {
		r, err := openDisk(t, dir, Options{Key: key}).Open(ref)
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if err == nil {
			t.Errorf("key %v: read", key)
		}
	}
}

// TestSweep: a crash in the middle of a group leaves half a record, which goes; what was acknowledged stays.
func TestSweep(t *testing.T) {
	for _, rest := range []string{"BSR1", strings.Repeat("\x00", 500), string((&header{length: 100}).bytes()) + "half"} {
		dir := t.TempDir()
		d := openDisk(t, dir, Options{})
		first := appended(t, d, "acknowledged")[0]
		_, err := d.open.WriteAt([]byte(rest), d.end)
		if err != nil {
			t.Fatal(err)
		}
		_ = d.Close()
		d = openDisk(t, dir, Options{})
		if d.end != first.Size {
			t.Errorf("%.4q: the segment goes on at %d, want %d", rest, d.end, first.Size)
		}
		second := appended(t, d, "next")[0]
		if read(t, d, first) != "acknowledged" || read(t, d, second) != "next" {
			t.Errorf("%.4q: a body is another one", rest)
		}
	}
}

// TestAllOrNone: a body that cannot be read, as a full disk would, undoes those of its group.
func TestAllOrNone(t *testing.T) {
	d := openDisk(t, t.TempDir(), Options{})
	appended(t, d, "before")
	end := d.end
	for _, bad := range []Body{
		{Size: 10, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("short")), nil }},
		{Size: 2, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("long")), nil }},
		{Size: 2, Open: func() (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }},
	} {
		if _, err := d.Append(t.Context(), []Body{body("whole"), bad}); err == nil {
			t.Error("a body of a wrong length is kept")
		}
		if st, err := d.open.Stat(); err != nil || st.Size() != end || d.end != end {
			t.Errorf("%d bytes, want %d", st.Size(), end)
		}
	}
}

func TestFull(t *testing.T) {
	d := openDisk(t, t.TempDir(), Options{Reserve: 1 << 60})
	if _, err := d.Append(t.Context(), []Body{body("x")}); !errors.Is(err, ErrFull) {
		t.Errorf("%v, want ErrFull", err)
	}
	if n, err := d.Size(); n != 0 || err != nil {
		t.Errorf("%d bytes (%v) of what was refused", n, err)
	}
}

// TestCompact: a segment of which little lives goes, and what lives is elsewhere then; one of which most lives stays.
func TestCompact(t *testing.T) {
	d := openDisk(t, t.TempDir(), Options{SegmentSize: 300})
	var refs []Ref
	for _, s := range []string{"a", "b", strings.Repeat("x", 300), "c", strings.Repeat("y", 300), "last"} {
		refs = append(refs, appended(t, d, s)...)
	}
	living := map[Ref]Sum{refs[1]: body("b").Sum, refs[4]: body("y").Sum, refs[5]: {}}
	ago := time.Now().Add(-time.Hour)
	for _, s := range []uint64{1, 2} {
		if err := os.Chtimes(d.path(s), ago, ago); err != nil {
			t.Fatal(err)
		}
	}
	live := func(segment uint64) (map[Ref]Sum, error) {
		of := map[Ref]Sum{}
		for r, sum := range living {
			if r.Segment == segment {
				of[r] = sum
			}
		}
		return of, nil
	}
	places := map[Ref]Ref{}
	err := d.Compact(context.Background(), live, func(m map[Ref]Ref) error {
		for old, now := range m {
			places[old] = now
		}
		return nil
	})
	if err != nil || len(places) != 1 || read(t, d, places[refs[1]]) != "b" {
		t.Errorf("moved %v (%v), want one body", places, err)
	}
	if _, err := d.Open(refs[1]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old place: %v", err)
	}
	if list, _ := d.segments(); !slices.Contains(list, 2) || slices.Contains(list, 1) {
		t.Errorf("segments %v: 2 stays, 1 goes", list)
	}
}
