package dyldcache

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

var le = binary.LittleEndian

func u32s(vs ...uint32) (b []byte) {
	for _, v := range vs {
		b = le.AppendUint32(b, v)
	}
	return b
}

func u64s(vs ...uint64) (b []byte) {
	for _, v := range vs {
		b = le.AppendUint64(b, v)
	}
	return b
}

const cacheAt, subAt = 0x1_8000_0000, 0x1_9000_0000

// library is a cached library at addr: its text, and a symbol table in __LINKEDIT.
func library(addr uint64, uuid byte) []byte {
	segment := func(name string, at, off, size uint64, prot uint32, sections []byte) []byte {
		b := append([]byte(name), make([]byte, 16-len(name))...)
		b = append(b, u64s(at, size, off, size)...)
		b = append(b, u32s(prot, prot, uint32(len(sections)/80), 0)...)
		b = append(b, sections...)
		return append(u32s(0x19, uint32(8+len(b))), b...)
	}
	text := append([]byte("__text\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00__TEXT\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), u64s(addr+0x400, 0x40)...)
	text = append(text, u32s(0x400, 0, 0, 0, 0x8000_0000, 0, 0, 0)...)
	cmds := segment("__TEXT", addr, addr&0xffff, 0x800, 5, text)
	cmds = append(cmds, segment("__LINKEDIT", addr+0x800, 0x800+addr&0xffff, 0x100, 1, nil)...)
	cmds = append(cmds, append(u32s(0x1b, 24), bytes.Repeat([]byte{uuid}, 16)...)...)
	cmds = append(cmds, u32s(2, 24, uint32(0x800+addr&0xffff), 1, uint32(0x820+addr&0xffff), 8)...)
	out := append(u32s(0xfeed_facf, 0x0100_000c, 0, 6, 4, uint32(len(cmds)), 0, 0), cmds...)
	out = append(out, make([]byte, 0x800-len(out))...)
	out = append(out, u32s(1)...)
	out = append(out, 0xf, 1, 0, 0)
	out = append(append(out, u64s(addr+0x400)...), make([]byte, 0x10)...)
	return append(out, append([]byte("\x00_f\x00"), make([]byte, 0xdc)...)...)
}

// build makes a cache of two files: the library a in the first, b in the second.
func build() (main, sub []byte) {
	const mappings, images, subs, paths, data = 0x1d0, 0x1f0, 0x230, 0x270, 0x1000
	main = make([]byte, data)
	copy(main, "dyld_v1  arm64e")
	copy(main[mappingsAt:], u32s(mappings, 1))
	copy(main[subcachesAt:], u32s(subs, 1))
	copy(main[imagesAt:], u32s(images, 2))
	copy(main[mappings:], u64s(cacheAt, 0x2000, 0, 5<<32|5))
	copy(main[images:], append(append(u64s(cacheAt+data, 0, 0), u32s(paths, 0)...), append(u64s(subAt+data, 0, 0), u32s(paths+16, 0)...)...))
	copy(main[subs+24:], ".01")
	copy(main[paths:], "/usr/lib/a.dylib")
	copy(main[paths+16:], "\x00/usr/lib/b.dylib")
	main[paths+16] = 0
	copy(main[images+32+24:], u32s(paths+17))
	main = append(main, library(cacheAt+data, 1)...)
	sub = make([]byte, data)
	copy(sub, "dyld_v1  arm64e")
	copy(sub[mappingsAt:], u32s(mappings, 1))
	copy(sub[mappings:], u64s(subAt, 0x2000, 0, 5<<32|5))
	return main, append(sub, library(subAt+data, 2)...)
}

func options() image.Options {
	return image.Options{Archs: cpu.Set{{Name: "aarch64", AddrSize: 8, RegSize: 8, MachO: 0x0100_000c, InsnAlign: 4}}}
}

// TestChoose: an image by its path, by its UUID, or the first, also out of a subcache.
func TestChoose(t *testing.T) {
	main, sub := build()
	path := filepath.Join(t.TempDir(), "dyld_shared_cache_arm64e")
	for name, data := range map[string][]byte{path: main, path + ".01": sub} {
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, uuid string
		want       uint64
	}{{"", "", cacheAt}, {"/usr/lib/b.dylib", "", subAt}, {"/elsewhere", strings.Repeat("\x02", 16), subAt}, {"/usr/lib/a.dylib", "x", cacheAt}} {
		opt := options()
		opt.Name, opt.BuildID = tt.name, []byte(tt.uuid)
		img, err := image.Open(path, []image.Format{Format()}, opt)
		if err != nil {
			t.Fatal(err)
		}
		lo, _ := img.Bounds()
		if s, ok := img.SymbolAt(tt.want + 0x1410); lo != tt.want+0x1000 || s.Name != "f" || !ok || img.Slices != 2 {
			t.Errorf("%s %q: at %#x, %q, of %d", tt.name, tt.uuid, lo, s.Name, img.Slices)
		}
		if err := img.Close(); err != nil {
			t.Error(err)
		}
	}
	opt := options()
	opt.Name = "/none"
	if _, err := image.Open(path, []image.Format{Format()}, opt); err == nil || !strings.Contains(err.Error(), "has no image /none") {
		t.Error(err)
	}
}

// FuzzCache: whatever a header says, opening ends and never panics.
func FuzzCache(f *testing.F) {
	main, _ := build()
	f.Add(main)
	f.Fuzz(func(t *testing.T, data []byte) {
		if !sniff(data) {
			return
		}
		opt := options()
		opt.BuildID = []byte("none")
		if img, err := image.Parse("fuzz", data, []image.Format{Format()}, opt); err == nil {
			img.SymbolAt(cacheAt)
		}
		if img, err := image.Parse("fuzz", data, []image.Format{Format()}, options()); err == nil {
			img.SymbolAt(cacheAt + 0x1400)
		}
	})
}
