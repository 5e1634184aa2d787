package packing_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/backsight/backsight/service/packing"
)

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestForms(t *testing.T) {
	text := strings.Repeat("stack ", 10_000)
	zstd, err := packing.Pack([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for form, b := range map[string][]byte{packing.None: []byte(text), packing.Gzip: gzipped(t, text), packing.Zstd: zstd} {
		if got := packing.Of(b); got != form {
			t.Errorf("%q is taken for %q", form, got)
		}
		r, err := packing.Reader(form, bytes.NewReader(b))
		if err != nil {
			t.Fatal(form, err)
		}
		if got, err := io.ReadAll(r); string(got) != text || err != nil {
			t.Errorf("%q: another text (%v)", form, err)
		}
	}
	if b, err := packing.Unpack(zstd, int64(len(text))); string(b) != text || err != nil {
		t.Errorf("another text (%v)", err)
	}
}

// TestBomb: a few bytes that become many end where the bound is.
func TestBomb(t *testing.T) {
	const bound = 1000
	zeros := strings.Repeat("\x00", 10<<20)
	zstd, err := packing.Pack([]byte(zeros))
	if err != nil {
		t.Fatal(err)
	}
	for form, b := range map[string][]byte{packing.Gzip: gzipped(t, zeros), packing.Zstd: zstd} {
		r, err := packing.Reader(form, bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(packing.Bounded(r, bound))
		if !errors.Is(err, packing.ErrLarge) || len(got) > bound+1 {
			t.Errorf("%s: %d bytes, %v", form, len(got), err)
		}
	}
	if got, err := io.ReadAll(packing.Bounded(strings.NewReader("just fits"), 9)); string(got) != "just fits" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzReader(f *testing.F) {
	zstd, err := packing.Pack([]byte("seed"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(zstd)
	f.Fuzz(func(t *testing.T, b []byte) {
		const bound = 1 << 16
		for _, form := range []string{packing.Gzip, packing.Zstd} {
			r, err := packing.Reader(form, bytes.NewReader(b))
			if err != nil {
				continue
			}
			if got, _ := io.ReadAll(packing.Bounded(r, bound)); len(got) > bound+1 {
				t.Errorf("%d bytes", len(got))
			}
		}
	})
}
