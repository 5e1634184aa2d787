package compactunwind

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

const base, at = 0x1_0000_0000, 0x1_0000_8000

// words is a section of 32-bit words.
func words(ws ...uint32) (b []byte) {
	for _, w := range ws {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// section is an __unwind_info with two common encodings, a compressed page for functions from
// 0x1000 on and a regular one from 0x3000 on; the functions end at 0x4000.
func section() []byte {
	const head, index, compressed, regular = 28, 36, 72, 72 + 28
	return words(
		1, head, 2, 0, 0, index, 3,
		0x0202_0000, 0x5101_0011, // common encodings, the second with LSDA and personality 1
		0x1000, compressed, 0, 0x3000, regular, 0, 0x4000, 0, 0,
		3, 12|4<<16, 12+16|0<<16, // the page's own encodings would stand behind its entries
		0, 1<<24|0x100, 2<<24|0x200, 0<<24|0x900,
		2, 8|2<<16, 0x3000, 0x0300_0010, 0x3800, 0)
}

func tableOf(t testing.TB, data []byte) *Table {
	t.Helper()
	return Of(image.New(image.Header{Arch: &cpu.Arch{Name: "x86_64", AddrSize: 8, RegSize: 8},
		Segments: []image.Segment{{Addr: at, Size: uint64(len(data)), Data: data}},
		Tables:   []image.Table{{Kind: image.CompactUnwind, Range: image.Range{Addr: at, Size: uint64(len(data))}, Base: base}}}, nil))
}

// TestFind: both kinds of pages, entries that cover what follows them, and what lies outside.
func TestFind(t *testing.T) {
	table := tableOf(t, section())
	for off, want := range map[uint64]Entry{
		0x1000: {base + 0x1000, base + 0x1100, 0x0202_0000},
		0x10ff: {base + 0x1000, base + 0x1100, 0x0202_0000},
		0x1100: {base + 0x1100, base + 0x1200, 0x5101_0011},
		0x1200: {base + 0x1200, base + 0x1900, 0}, // an index of an encoding that there is not
		0x2fff: {base + 0x1900, base + 0x3000, 0x0202_0000},
		0x3000: {base + 0x3000, base + 0x3800, 0x0300_0010},
		0x3fff: {base + 0x3800, base + 0x4000, 0},
	} {
		if e, ok := table.Find(base + off); !ok || e != want {
			t.Errorf("%#x: %+v, %t", off, e, ok)
		}
	}
	for _, pc := range []uint64{0, base, base + 0xfff, base + 0x4000, base - 1, base + 1<<32 + 0x1000} {
		if e, ok := table.Find(pc); ok {
			t.Errorf("%#x is covered by %+v", pc, e)
		}
	}
	if n := 0; true {
		table.Entries(func(Entry) bool { n++; return true })
		if n != 6 {
			t.Errorf("%d entries", n)
		}
	}
}

// TestEncoding: what all processors' encodings have in common.
func TestEncoding(t *testing.T) {
	e := Encoding(0x5401_0011)
	if !e.LSDA() || e.Personality() != 1 || e.Mode() != 4 {
		t.Errorf("LSDA %t, personality %d, mode %d", e.LSDA(), e.Personality(), e.Mode())
	}
	table := tableOf(t, section())
	if off, ok := table.FDE(e); !ok || off != 0x1_0011 {
		t.Errorf("FDE at %#x, %t", off, ok)
	}
	if _, ok := table.FDE(0x0100_0000); ok {
		t.Error("a frame pointer names an FDE")
	}
}

// TestNoTable: an image without the section, and one of another version.
func TestNoTable(t *testing.T) {
	other := section()
	other[0] = 2
	for name, data := range map[string][]byte{"none": nil, "version 2": other, "cut": section()[:30]} {
		table := tableOf(t, data)
		if _, ok := table.Find(base + 0x1000); ok {
			t.Errorf("%s: something is found", name)
		}
		table.Entries(func(e Entry) bool { t.Errorf("%s: %+v", name, e); return true })
	}
}

// FuzzTable: whatever the section says, questions end, and what is found covers the address.
func FuzzTable(f *testing.F) {
	f.Add(section())
	f.Add(words(1, 0, 1<<30, 0, 0, 28, 1<<31, 0, 28, 0, ^uint32(0), 28, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		table := tableOf(t, data)
		for _, off := range []uint64{0, 1, 0x1000, 0x3000, 0xffff_fffe} {
			if e, ok := table.Find(base + off); ok && (base+off < e.Lo || base+off >= e.Hi) {
				t.Errorf("%#x is not in %+v", off, e)
			}
		}
		n := 0
		table.Entries(func(Entry) bool { n++; return true })
		if n > len(data) {
			t.Errorf("%d entries in %d bytes", n, len(data))
		}
	})
}
