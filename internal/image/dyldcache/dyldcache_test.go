package dyldcache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth/machofile"
)

const cacheAt, subAt = 0x1_8000_0000, 0x1_9000_0000

// library is a cached library at addr: its text, and a symbol table in __LINKEDIT.
func library(addr uint64, uuid byte) []byte {
	off := uint32(addr & 0xffff)
	segment := func(name string, at uint64, size uint32, prot, sections uint32, section []byte) []byte {
		return machofile.Command(machofile.LCSegment64, machofile.Name(name), machofile.U64(at, uint64(size), at&0xffff, uint64(size)),
			machofile.U32(prot, prot, sections, 0), section)
	}
	text := append(machofile.Name("__text"), machofile.Name("__TEXT")...)
	text = append(text, machofile.U64(addr+0x400, 0x40)...)
	text = append(text, machofile.U32(0x400, 0, 0, 0, machofile.PureInstructions, 0, 0, 0)...)
	cmds := segment("__TEXT", addr, 0x800, 5, 1, text)
	cmds = append(cmds, segment("__LINKEDIT", addr+0x800, 0x100, 1, 0, nil)...)
	cmds = append(cmds, machofile.UUID(uuid)...)
	cmds = append(cmds, machofile.Command(machofile.LCSymtab, machofile.U32(0x800+off, 1, 0x820+off, 8))...)
	out := machofile.Header64(machofile.CPUTypeARM64, 0, 6, 4, cmds, 0)
	out = append(out, make([]byte, 0x800-len(out))...)
	out = append(out, machofile.U32(1, 0x010f)...) // a symbol of section 1, for other files
	out = append(append(out, machofile.U64(addr+0x400)...), make([]byte, 0x10)...)
	return append(out, append([]byte("\x00_f\x00"), make([]byte, 0xdc)...)...)
}

// build makes a cache of two files: the library a in the first, b in the second.
func build() (main, sub []byte) {
	const mappings, images, subs, paths, data = 0x1d0, 0x1f0, 0x230, 0x270, 0x1000
	main = make([]byte, data)
	copy(main, "dyld_v1  arm64e")
	copy(main[mappingsAt:], machofile.U32(mappings, 1))
	copy(main[subcachesAt:], machofile.U32(subs, 1))
	copy(main[imagesAt:], machofile.U32(images, 2))
	copy(main[mappings:], machofile.U64(cacheAt, 0x2000, 0, 5<<32|5))
	copy(main[images:], append(append(machofile.U64(cacheAt+data, 0, 0), machofile.U32(paths, 0)...), append(machofile.U64(subAt+data, 0, 0), machofile.U32(paths+16, 0)...)...))
	copy(main[subs+24:], ".01")
	copy(main[paths:], "/usr/lib/a.dylib")
	copy(main[paths+16:], "\x00/usr/lib/b.dylib")
	main[paths+16] = 0
	copy(main[images+32+24:], machofile.U32(paths+17))
	main = append(main, library(cacheAt+data, 1)...)
	sub = make([]byte, data)
	copy(sub, "dyld_v1  arm64e")
	copy(sub[mappingsAt:], machofile.U32(mappings, 1))
	copy(sub[mappings:], machofile.U64(subAt, 0x2000, 0, 5<<32|5))
	return main, append(sub, library(subAt+data, 2)...)
}

// symbols makes the file of symbols that no other library may use: _g of the library a.
func symbols() []byte {
	const at = 0x1d0
	b := make([]byte, at)
	copy(b, "dyld_v1  arm64e")
	copy(b[mappingsAt:], machofile.U32(at, 0))
	info := machofile.U32(40, 2, 72, 7, 24, 1) // nlists, strings, entries
	info = append(append(info, machofile.U64(0x1000)...), machofile.U32(1, 1)...)
	info = append(append(info, machofile.U32(1, 0x10e)...), machofile.U64(1)...)              // another library's
	info = append(append(info, machofile.U32(3, 0x10e)...), machofile.U64(cacheAt+0x1420)...) // of section 1
	info = append(info, "\x00f\x00_g\x00\x00"...)
	copy(b[localsAt:], machofile.U64(at, uint64(len(info))))
	return append(b, info...)
}

func options() image.Options {
	return image.Options{Archs: cpu.Set{{Name: "aarch64", AddrSize: 8, RegSize: 8, MachO: 0x0100_000c, CodeAddresses: cpu.CodeAddresses{InsnAlign: 4}}}}
}

// TestChoose: an image by its path, by its UUID, or the first, also out of a subcache.
func TestChoose(t *testing.T) {
	main, sub := build()
	path := filepath.Join(t.TempDir(), "dyld_shared_cache_arm64e")
	for name, data := range map[string][]byte{path: main, path + ".01": sub, path + ".symbols": symbols()} {
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
		lo, _ := img.Segments.Bounds()
		if s, ok := img.Symbols.At(tt.want + 0x1410); lo != tt.want+0x1000 || s.Name != "f" || !ok || img.Slices != 2 {
			t.Errorf("%s %q: at %#x, %q, of %d", tt.name, tt.uuid, lo, s.Name, img.Slices)
		}
		name := "f"
		if tt.want == cacheAt {
			name = "g"
		}
		if s, _ := img.Symbols.At(tt.want + 0x1430); s.Name != name {
			t.Errorf("%s: a local symbol is %q", tt.name, s.Name)
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
	withSymbols := symbols()
	copy(main[localsAt:], machofile.U64(uint64(len(main)), uint64(len(withSymbols)-0x1d0)))
	f.Add(append(main, withSymbols[0x1d0:]...))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !sniff(data) {
			return
		}
		opt := options()
		opt.BuildID = []byte("none")
		if img, err := image.Parse("fuzz", data, []image.Format{Format()}, opt); err == nil {
			img.Symbols.At(cacheAt)
		}
		if img, err := image.Parse("fuzz", data, []image.Format{Format()}, options()); err == nil {
			img.Symbols.At(cacheAt + 0x1400)
		}
	})
}
