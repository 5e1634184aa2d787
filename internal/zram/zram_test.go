package zram

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/synth/kernels"
	"github.com/backsight/backsight/target"
)

const begin = 0x4000_0000

// deviceOf is a device in a megabyte of memory, and a kernel of words of some bytes.
func deviceOf(word int) (*kernels.Zram, *Kernel) {
	arch, z := arm64.Archs()[0], &kernels.Zram{RAM: make([]byte, 1<<20), Begin: begin, Word: word, At: 0x10000, Virtual: 0xffff_8000_0000_0000, Stride: 24, Shift: 28}
	if word == 4 {
		arch, _ = cpu.Set(arm.Archs()).ByName("arm", "", false)
		z.Virtual, z.Stride, z.Shift = 0xc000_0000, 16, 12
	}
	z.Write()
	var b, physical target.Builder
	b.Add(z.Virtual, z.RAM, 0, target.PermRead|target.PermWrite)
	physical.Add(begin, z.RAM, 0, target.PermUnknown)
	k := &Kernel{Arch: arch, Memory: b.Memory(arch), Physical: physical.Memory(arch), Areas: z.Areas()}
	k.Pages, k.PageSize = z.Structs()
	return z, k
}

// pageOf is the page that is swapped out to a slot: words that count, and zeros.
func pageOf(slot int) []byte {
	page := make([]byte, pageSize)
	for i := range pageSize / 16 {
		binary.LittleEndian.PutUint32(page[4*i:], uint32(i*i*(slot+1)))
	}
	return page
}

// entryOf is a page table's entry: that of Linux 5.10 on arm64, and on ARM.
func entryOf(word, slot int) uint64 {
	if word == 4 {
		return uint64(slot) << 7
	}
	return uint64(slot) << 8
}

// packedBy compresses a page.
func packedBy(t testing.TB, name string, page []byte) []byte {
	t.Helper()
	switch name {
	case "zstd":
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll(page, nil)
	case "lz4":
		packed := make([]byte, lz4.CompressBlockBound(len(page)))
		n, err := lz4.CompressBlock(page, packed, nil)
		if err != nil || n == 0 {
			t.Fatal(n, err)
		}
		return packed[:n]
	}
	// LZO with version 1: 240 literals and more, then runs of zeros, then the end.
	run := func(n int) []byte { n -= 4; return []byte{0x18 | byte(n&7), 0xfc, 0xff, byte(n >> 3)} }
	packed := append([]byte{17, 1, 0, 0, 0, 0, 1024 - 3 - 15 - 3*255}, page[:1024]...)
	return bytes.Join([][]byte{packed, run(2051), run(1021), {0x11, 0, 0}}, nil)
}

// fill swaps six pages out, of which one reaches into another page of memory.
func fill(t testing.TB, z *kernels.Zram, by string) (entries []uint64) {
	at, page := 0, 0
	for slot := range 6 {
		packed := packedBy(t, by, pageOf(slot))
		if at+z.Word+len(packed) > 2*pageSize || at >= pageSize {
			at, page = 0, page+2
		}
		if at+z.Word+len(packed) > pageSize {
			z.Linked(page)
		}
		z.Object(slot, page, at, packed)
		at += (z.Word + len(packed) + classStep - 1) / classStep * classStep
		entries = append(entries, entryOf(z.Word, slot))
	}
	return entries
}

// TestRead: pages by each compression, with the name of swap_info and without, of words of both sizes.
func TestRead(t *testing.T) {
	for _, by := range []string{"lzo-rle", "lz4", "zstd"} {
		for _, word := range []int{8, 4} {
			for _, named := range []bool{true, false} {
				t.Run(fmt.Sprint(by, word, named), func(t *testing.T) {
					z, k := deviceOf(word)
					entries := fill(t, z, by)
					if !named {
						k.Areas = 0
					}
					s, err := Find(t.Context(), k, entries)
					if err != nil {
						t.Fatal(err)
					}
					for slot, entry := range entries {
						var page [pageSize]byte
						if err := s.Read(entry, &page); err != nil || !bytes.Equal(page[:], pageOf(slot)) {
							t.Errorf("slot %d: %v, % x", slot, err, page[:16])
						}
					}
				})
			}
		}
	}
}

// TestKinds: a page that did not become smaller, one of zeros, and what is not to be had.
func TestKinds(t *testing.T) {
	z, k := deviceOf(8)
	entries := fill(t, z, "lz4")
	s, err := Find(t.Context(), k, entries)
	if err != nil {
		t.Fatal(err)
	}
	z.Whole(6, 12, pageOf(6))
	z.Entry(7, 0, 1<<14)
	z.Entry(8, 0x4141_4141_4141_4141, 1<<14)
	z.Object(9, 13, 0, bytes.Repeat([]byte{0xff}, 90))
	z.Object(10, 14, 0, packedBy(t, "lz4", pageOf(10)))
	z.Object(10, 14, 2048, packedBy(t, "lz4", pageOf(10)))        // the handle stands there twice
	z.Entry(11, z.Handle(11, 15), 100)                            // and nowhere
	z.Object(12, 15, pageSize-64, packedBy(t, "lz4", pageOf(12))) // the next page is none of its own
	z.Entry(13, begin, 100)                                       // no handle
	for slot, want := range map[int]error{6: nil, 7: nil, 8: errFilled, 9: errCodec, 10: errNowhere, 11: errNowhere, 12: errRest, 13: errNowhere, 14: errUnused} {
		page := [pageSize]byte{1}
		err := s.Read(entryOf(8, slot), &page)
		if !errors.Is(err, want) {
			t.Errorf("slot %d: %v, want %v", slot, err, want)
		}
		content := pageOf(6)
		if slot == 7 {
			content = make([]byte, pageSize)
		}
		if want == nil && !bytes.Equal(page[:], content) {
			t.Errorf("slot %d: % x", slot, page[:16])
		}
	}
	k.PageSize = 0
	if err := s.Read(entryOf(8, 6), new([pageSize]byte)); !errors.Is(err, errRest) {
		t.Errorf("without the address of struct pages: %v", err)
	}
	for _, entry := range []uint64{1<<58 | 6<<8, 6<<8 | 1, 6<<8 | 3<<2} { // forbidden, in memory, on another device
		if err := s.Read(entry, new([pageSize]byte)); err == nil {
			t.Errorf("entry %#x: a page", entry)
		}
	}
}

// TestEncodings: which of several versions' encodings entries have is told by what they lead to; where two would do, none is taken.
func TestEncodings(t *testing.T) {
	z, k := deviceOf(8)
	entries := fill(t, z, "lz4")
	var newer []uint64
	for slot := range entries {
		newer = append(newer, uint64(slot)<<12)
	}
	s, err := Find(t.Context(), k, newer)
	if err != nil || s.encoding.offset != 12 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Find(t.Context(), k, []uint64{1 << 57}); err == nil {
		t.Error("entries that lead nowhere have an encoding")
	}
	z.Object(16, 12, 0, packedBy(t, "lz4", pageOf(16)))
	if _, err := Find(t.Context(), k, newer[1:2]); err == nil {
		t.Error("an entry that leads to slot 1 and to slot 16 has an encoding")
	}
}

// TestNone: a kernel without zram has none, and who breaks off gets that.
func TestNone(t *testing.T) {
	_, k := deviceOf(8)
	for _, areas := range []uint64{k.Areas, 0, 0xffff_8000_0000_0000} {
		k.Areas = areas
		if _, err := Find(t.Context(), k, []uint64{1 << 8}); !errors.Is(err, ErrNone) {
			t.Errorf("swap_info at %#x: %v", areas, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Find(ctx, k, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("swap_info at %#x, broken off: %v", areas, err)
		}
	}
}

// FuzzRead changes words of a device's memory.
func FuzzRead(f *testing.F) {
	z, k := deviceOf(8)
	entries := fill(f, z, "lz4")
	f.Add(uint16(0), uint64(0), uint16(8), uint64(1)<<63, uint64(256))
	f.Fuzz(func(t *testing.T, at1 uint16, v1 uint64, at2 uint16, v2, entry uint64) {
		for i, at := range []uint16{at1, at2} {
			place := z.RAM[z.At+int(at)*8%kernels.ZramSize:]
			was := binary.LittleEndian.Uint64(place)
			binary.LittleEndian.PutUint64(place, []uint64{v1, v2}[i])
			defer binary.LittleEndian.PutUint64(place, was)
		}
		for _, areas := range []uint64{z.Areas(), 0} {
			k.Areas = areas
			if s, err := Find(t.Context(), k, append(entries, entry)); err == nil {
				_ = s.Read(entry, new([pageSize]byte))
			}
		}
	})
}
