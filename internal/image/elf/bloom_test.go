package elf

import (
	"fmt"
	"testing"

	"github.com/backsight/backsight/image"
)

// gnuHash is a .gnu.hash of one bucket for some names, with a filter of some words.
func (e build) gnuHash(words int, names ...string) sec {
	const shift = 6
	size := 4
	if e.wide {
		size = 8
	}
	filter := make([]uint64, words)
	for _, name := range names {
		h := uint32(5381)
		for _, c := range []byte(name) {
			h = h<<5 + h + uint32(c)
		}
		bits := uint32(8 * size)
		filter[h/bits%uint32(words)] |= 1<<(h%bits) | 1<<(h>>shift%bits)
	}
	b := e.buf()
	b.u32(1, 1, uint32(words), shift)
	b.word(filter...)
	return sec{name: ".gnu.hash", flags: shfAlloc, addr: 0x5000, data: b.b}
}

func filterOf(t *testing.T, e build) bloomFilter {
	t.Helper()
	f, err := newFile(&image.File{Data: e.bytes()})
	if err != nil {
		t.Fatal(err)
	}
	return f.bloomFilter()
}

// TestBloomFilter: a name that is exported is never said to be missing; most others are, in files of either class and byte order.
func TestBloomFilter(t *testing.T) {
	for _, e := range []build{{wide: true}, {}, {big: true, machine: emMIPS}} {
		exported := []string{"malloc", "free", "__abort_msg", "_ZN2v88internal4HeapC1Ev", "f"}
		hash := e.gnuHash(4, exported...)
		e.secs = []sec{text(0x1000, 0x100), hash}
		filter := filterOf(t, e)
		for _, name := range exported {
			if filter.lacks(name) {
				t.Errorf("%+v: %s is missing", e, name)
			}
		}
		missing := 0
		for i := range 1000 {
			if filter.lacks(fmt.Sprint("other", i)) {
				missing++
			}
		}
		if missing < 900 {
			t.Errorf("%+v: %d of 1000 names are missing", e, missing)
		}
	}
}

// TestBloomFilterCut: a filter that claims more words than there are, or none, tells nothing.
func TestBloomFilterCut(t *testing.T) {
	for _, words := range []uint32{0, 3, 1 << 30, 1<<32 - 1} {
		e := build{wide: true}
		b := e.buf()
		b.u32(1, 1, words, 40, 0, 0)
		e.secs = []sec{text(0x1000, 0x100), {name: ".gnu.hash", flags: shfAlloc, addr: 0x5000, data: b.b}}
		filter := filterOf(t, e)
		if filter.lacks("malloc") {
			t.Errorf("%d words: malloc is missing", words)
		}
	}
}
