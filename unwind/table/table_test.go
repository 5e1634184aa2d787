package table_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/cpu/arm64"
	"github.com/backsight/backsight/cpu/mips"
	"github.com/backsight/backsight/cpu/riscv"
	"github.com/backsight/backsight/cpu/x86"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/image/elf"
	"github.com/backsight/backsight/unwind"
	"github.com/backsight/backsight/unwind/cfi"
	"github.com/backsight/backsight/unwind/table"
)

// files are images with tables of their own, of several processors.
var files = []string{
	"/lib/x86_64-linux-gnu/libc.so.6",
	"../../../shared/truth/public/x86_64/pub-gcc-O2/sym.elf",
	"../../../shared/truth/public/aarch64/pub-gcc-O2/sym.elf",
	"../../../shared/truth/public/mips/pub-gcc-O2/sym.elf",
	"../../../shared/truth/public/riscv64/pub-gcc-O2/sym.elf",
}

func open(t testing.TB, path string) *image.Image {
	var archs cpu.Set
	for _, a := range [][]*cpu.Arch{x86.Archs(), arm64.Archs(), mips.Archs(), riscv.Archs()} {
		archs = append(archs, a...)
	}
	img, err := elf.Open(path, elf.Options{Archs: archs, NoDebugFiles: true})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = img.Close() })
	return img
}

// TestTableSaysWhatCFISays at the first, the last and a middle byte of every row.
func TestTableSaysWhatCFISays(t *testing.T) {
	for _, path := range files {
		t.Run(path, func(t *testing.T) {
			img := open(t, path)
			src := cfi.New()
			tab := table.Build(img, src.Rows)
			rows, other := 0, 0
			var want, got unwind.Rule
			src.Rows(img, func(lo, hi uint64, _ *unwind.Rule) bool {
				for _, pc := range []uint64{lo, lo + (hi-lo)/2, hi - 1} {
					want.Reset()
					v := src.Rule(&unwind.Query{Image: img, Arch: img.Arch, PC: pc}, &want)
					var p unwind.Packed
					switch w := tab.Lookup(pc, &p); {
					case w == unwind.Unsupported:
						other++
						continue
					case w != v:
						t.Fatalf("%#x: %v, cfi says %v", pc, w, v)
					}
					p.Unpack(img.Arch, &got)
					if want.RA.Kind == unwind.Undefined && got.RA.Kind == unwind.Undefined {
						continue
					}
					if !got.Equal(&want, img.Arch.Preserved) {
						t.Fatalf("%#x: %s, cfi says %s", pc, got.Format(img.Arch), want.Format(img.Arch))
					}
				}
				rows++
				return true
			})
			// Those that restore argument registers, for exceptions, and the like.
			if other > 3*rows/25 {
				t.Errorf("%d of %d rows are elsewhere", other/3, rows)
			}
			t.Logf("%+v of %d rows, %d elsewhere", tab.Stats(), rows, other/3)
		})
	}
}

func TestFile(t *testing.T) {
	img := open(t, files[0])
	tab := table.Build(img, cfi.New().Rows)
	b, err := tab.Append(nil, img)
	if err != nil {
		t.Fatal(err)
	}
	again, err := table.Open(b, img)
	if err != nil || again.Stats() != tab.Stats() {
		t.Fatalf("%v, %+v, want %+v", err, again.Stats(), tab.Stats())
	}
	var x, y unwind.Packed
	for pc := range uint64(1 << 18) {
		if v, w := tab.Lookup(pc, &x), again.Lookup(pc, &y); v != w || x != y {
			t.Fatalf("%#x: %v %v, from the file %v %v", pc, v, x, w, y)
		}
	}
	head := img.Header
	head.BuildID = []byte("other")
	other := image.New(head, nil)
	for _, c := range []struct {
		name string
		file []byte
		img  *image.Image
		want error
	}{
		{"another build", b, other, table.ErrOtherFile},
		{"another version", append([]byte("bsTable\x02"), b[8:]...), img, table.ErrNotATable},
		{"cut short", b[:len(b)-1], img, table.ErrDamaged},
		{"a bit flipped", append(bytes.Clone(b[:1000]), append([]byte{b[1000] ^ 1}, b[1001:]...)...), img, table.ErrDamaged},
		{"empty", nil, img, table.ErrNotATable},
	} {
		if _, err := table.Open(c.file, c.img); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// FuzzOpen: whatever a file says, looking things up stays within it. The checksum is
// made right, or hardly any input would come further.
func FuzzOpen(f *testing.F) {
	img := image.New(image.Header{Arch: x86.Archs()[0], BuildID: []byte{1, 2, 3}}, nil)
	rule := unwind.Rule{RA: unwind.RegRule{Kind: unwind.Undefined}}
	tab := table.Build(img, func(_ *image.Image, yield func(lo, hi uint64, r *unwind.Rule) bool) {
		for pc := uint64(0x1000); pc < 0x40000; pc += 0x800 {
			yield(pc, pc+0x700, &rule)
		}
	})
	seed, err := tab.Append(nil, img)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, uint64(0x1234))
	f.Fuzz(func(t *testing.T, b []byte, pc uint64) {
		if len(b) >= 12 {
			binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[12:], crc32.MakeTable(crc32.Castagnoli)))
		}
		tab, err := table.Open(b, img)
		if err != nil {
			return
		}
		var p unwind.Packed
		if tab.Lookup(pc, &p) == unwind.Found {
			var r unwind.Rule
			p.Unpack(img.Arch, &r)
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	img := open(b, "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1")
	for b.Loop() {
		table.Build(img, cfi.New().Rows)
	}
}

func BenchmarkLookup(b *testing.B) {
	img := open(b, files[0])
	tab := table.Build(img, cfi.New().Rows)
	text, _ := img.Section(".text")
	var p unwind.Packed
	for i := uint64(0); b.Loop(); i += 7919 {
		tab.Lookup(text.Addr+i%uint64(len(text.Data)), &p)
	}
}
