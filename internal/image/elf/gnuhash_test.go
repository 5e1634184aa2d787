package elf

import (
	"fmt"
	"slices"
	"testing"

	"github.com/backsight/backsight/image"
)

// hashSection is a .gnu.hash of one bucket, of the symbols from index 1 on, with a filter of some words.
func (e build) hashSection(words int, names ...string) sec {
	const shift = 6
	size := 4
	if e.wide {
		size = 8
	}
	filter, hashes := make([]uint64, words), []uint32(nil)
	for i, name := range names {
		h := uint32(5381)
		for _, c := range []byte(name) {
			h = h<<5 + h + uint32(c)
		}
		bits := uint32(8 * size)
		filter[h/bits%uint32(words)] |= 1<<(h%bits) | 1<<(h>>shift%bits)
		if h &^= 1; i == len(names)-1 {
			h |= 1
		}
		hashes = append(hashes, h)
	}
	b := e.buf()
	b.u32(1, 1, uint32(words), shift)
	b.word(filter...)
	b.u32(1)
	b.u32(hashes...)
	return sec{name: ".gnu.hash", flags: shfAlloc, addr: 0x5000, data: b.b}
}

func hashIn(t *testing.T, e build) gnuHash {
	t.Helper()
	f, err := newFile(&image.File{Data: e.bytes()})
	if err != nil {
		t.Fatal(err)
	}
	return f.gnuHash()
}

// TestGNUHash: a name that is exported is found, and most others are missing by the filter alone, in files of either class and byte order.
func TestGNUHash(t *testing.T) {
	for _, e := range []build{{wide: true}, {}, {big: true, machine: emMIPS}} {
		exported := []string{"malloc", "free", "__abort_msg", "_ZN2v88internal4HeapC1Ev", "f"}
		e.secs = []sec{text(0x1000, 0x100), e.hashSection(4, exported...)}
		hash := hashIn(t, e)
		for i, name := range exported {
			if got := hash.with(name); !slices.Equal(got, []uint32{1 + uint32(i)}) {
				t.Errorf("%+v: %s is symbol %v, want %d", e, name, got, 1+i)
			}
		}
		missing := 0
		for i := range 1000 {
			if hash.lacks(hashOf(fmt.Sprint("other", i))) {
				missing++
			}
		}
		if missing < 900 {
			t.Errorf("%+v: %d of 1000 names are missing", e, missing)
		}
	}
}

// TestGNUHashDamaged: what claims more words or buckets than there are, or none, is no table; a bucket may name any symbol, and
// the hashes behind may have no end.
func TestGNUHashDamaged(t *testing.T) {
	for _, tt := range []struct {
		buckets, first, words uint32
		known                 bool
		bucket                uint32
	}{
		{1, 1, 0, false, 1}, {1, 1, 3, false, 1}, {1, 1, 1<<32 - 1, false, 1}, {0, 1, 1, false, 1}, {1<<32 - 1, 1, 1, false, 1},
		{1, 1, 1, true, 1}, {1, 1, 1, true, 0}, {1, 1, 1, true, 1<<32 - 1}, {1, 1<<32 - 1, 1, true, 1},
	} {
		e := build{wide: true}
		b := e.buf()
		b.u32(tt.buckets, tt.first, tt.words, 40, 1<<32-1, 1<<32-1, tt.bucket, 2, 4)
		e.secs = []sec{text(0x1000, 0x100), {name: ".gnu.hash", flags: shfAlloc, addr: 0x5000, data: b.b}}
		hash := hashIn(t, e)
		if hash.known() != tt.known {
			t.Errorf("%+v: %t", tt, hash.known())
		}
		if tt.known {
			for _, i := range hash.with("malloc") {
				t.Errorf("%+v: malloc is symbol %d", tt, i)
			}
		}
	}
}

// TestNamedByHash: the hash leads to the symbol that a table's own order leads to: of two versions the one that new programs are linked with.
func TestNamedByHash(t *testing.T) {
	names := []string{"both", "var", "both", "extern"}
	e := build{wide: true}
	e.secs = append([]sec{text(0x1000, 0x100)}, e.symtab(".dynsym", ".dynstr",
		tsym{name: "both", value: 0x1010, info: weakFunc, shndx: 1},
		tsym{name: "var", value: 0x2001, size: 4, info: object, shndx: 1},
		tsym{name: "both", value: 0x1020, info: globalFunc, shndx: 1},
		tsym{name: "extern", info: globalFunc})...)
	for _, secs := range [][]sec{e.secs, append(slices.Clone(e.secs), e.hashSection(1, names...))} {
		e.secs = secs
		img := parse(t, e.bytes())
		for name, want := range map[string]uint64{"both": 0x1020, "var": 0x2001, "extern": 0, "none": 0} {
			if s, ok := img.Symbols.Named(name); s.Addr != want || ok != (want != 0) {
				t.Errorf("%d sections: %s is %+v, %t", len(secs), name, s, ok)
			}
		}
	}
}
