package elf

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/internal/synth/meter"
)

// TestSectionPart asks for parts of one section, compressed or not, one after the
// other: on and on, overlapping, over the end, and back again.
func TestSectionPart(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	want := sample(3 << 20)
	size := uint64(len(want))
	e := build{wide: true}
	e.secs = []sec{
		text(0x1000, 16),
		{name: ".debug_info", flags: shfCompressed, data: e.chdr(elfcompressZlib, size, deflate(want))},
		{name: ".debug_line", flags: shfCompressed, data: e.chdr(elfcompressZstd, size, zstandard(want))},
		{name: ".debug_str", data: want},
	}
	file := e.bytes()
	for _, name := range []string{".debug_info", ".debug_line", ".debug_str"} {
		img := parse(t, file)
		for _, p := range []struct{ off, n uint64 }{
			{0, 0}, {10, 20}, {10, 40}, {12, 4}, {5000, 8}, {10, 4}, {6000, 8}, {5000, 8}, {5004, 2 << 20}, {size - 3, 3}, {size - 1, ^uint64(0)}, {size, 1}, {^uint64(0), 1},
			{100, 50}, {0, size}, {size - 8, 8},
		} {
			lo := min(p.off, size)
			if got := img.Sections.Part(name, p.off, p.n); !bytes.Equal(got, want[lo:lo+min(p.n, size-lo)]) {
				t.Errorf("%s: %d bytes at %#x, want %d", name, len(got), p.off, p.n)
			}
		}
	}
}

// A damaged stream yields what stands before the damage, and costs no more.
func TestDamagedPart(t *testing.T) {
	want := sample(10_000)
	z := deflate(want)
	e := build{wide: true}
	e.secs = []sec{
		text(0x1000, 16),
		{name: ".debug_cut", flags: shfCompressed, data: e.chdr(elfcompressZlib, 10_000, z[:len(z)/2])},
		{name: ".debug_huge", flags: shfCompressed, data: e.chdr(elfcompressZlib, ^uint64(0), z)},
		{name: ".debug_chdr", flags: shfCompressed, data: []byte{1, 0, 0}},
	}
	img := parse(t, e.bytes())
	if got := img.Sections.Part(".debug_cut", 16, 10_000); len(got) < 1000 || !bytes.HasPrefix(want[16:], got) {
		t.Errorf("%d bytes of a stream that is cut", len(got))
	}
	for _, name := range []string{".debug_cut", ".debug_huge", ".debug_chdr", ".debug_none"} {
		if got := img.Sections.Part(name, 9_990, 10); len(got) != 0 {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}

// TestCostOfLargePart: a part of many megabytes takes memory in proportion, not a copy of all for
// each further megabyte.
func TestCostOfLargePart(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	want := make([]byte, 64<<20)
	random := rand.NewPCG(1, 2)
	for i := 0; i < len(want); i += 48 {
		want[i] = byte(random.Uint64())
	}
	e := build{wide: true}
	e.secs = []sec{text(0x1000, 16), {name: ".debug_info", flags: shfCompressed, data: e.chdr(elfcompressZlib, uint64(len(want)), deflate(want))}}
	img := parse(t, e.bytes())
	meter.Allocations(t, 4*len(want)/meter.PerByte, func() {
		if got := img.Sections.Part(".debug_info", 0, uint64(len(want))); !bytes.Equal(got, want) {
			t.Errorf("%d bytes of %d", len(got), len(want))
		}
	})
}

// TestMappedPart: what lies compressed in a mapped file is the same each time it is asked for,
// whole and in parts, though the pages it came from are given back behind the reader.
func TestMappedPart(t *testing.T) {
	want := make([]byte, 1<<20)
	random := rand.NewPCG(1, 2)
	for i := range want {
		want[i] = byte(random.Uint64())
	}
	size := uint64(len(want))
	e := build{wide: true}
	e.secs = []sec{text(0x1000, 16)}
	for typ, packed := range map[uint32][]byte{elfcompressZlib: deflate(want), elfcompressZstd: zstandard(want)} {
		e.secs = append(e.secs, sec{name: fmt.Sprint(".debug_", typ), flags: shfCompressed, data: e.chdr(typ, size, packed)})
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, e.bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second reads the pages once more
		img, err := Open(path, options())
		if err != nil {
			t.Fatal(err)
		}
		defer img.Close()
		for _, name := range []string{fmt.Sprint(".debug_", elfcompressZlib), fmt.Sprint(".debug_", elfcompressZstd)} {
			if got := img.Sections.Part(name, size-100, 100); !bytes.Equal(got, want[size-100:]) {
				t.Errorf("%s: the end: %d bytes, or others", name, len(got))
			}
			if s, ok := img.Sections.Named(name); !ok || !bytes.Equal(s.Data, want) {
				t.Errorf("%s: %d bytes, or others", name, len(s.Data))
			}
		}
	}
}
