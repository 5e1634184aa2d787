package kernel

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/synth/kernels"
)

func archs() (set cpu.Set) { return append(append(set, arm64.Archs()...), mips.Archs()...) }

// parse opens bytes as a kernel.
func parse(data []byte) (*image.Image, error) {
	return image.Parse("vmlinuz", data, []image.Format{Format(), elf.Format()}, image.Options{Archs: archs()})
}

func packed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// falseMagic is what looks like the beginning of a compressed stream, and is none.
var falseMagic = append([]byte("decompressor"), 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff)

// zboot wraps an arm64 kernel as CONFIG_EFI_ZBOOT does: PE, "zimg", where the payload lies.
func zboot(payload []byte) []byte {
	b := make([]byte, 0x400)
	copy(b, "MZ\x00\x00zimg")
	binary.LittleEndian.PutUint32(b[8:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[12:], uint32(len(payload)))
	return append(b, payload...)
}

// uImageOf wraps a kernel as mkimage does.
func uImageOf(arch byte, load uint32, payload []byte) []byte {
	b := make([]byte, 64)
	binary.BigEndian.PutUint32(b, uImageMagic)
	binary.BigEndian.PutUint32(b[12:], uint32(len(payload)))
	binary.BigEndian.PutUint32(b[16:], load)
	b[28], b[29], b[30], b[31] = 5, arch, 2, 1
	return append(b, payload...)
}

// stub wraps a kernel as arch/mips/boot/compressed does: an ELF file for MIPS that is
// loaded into kseg0, with the payload somewhere in it.
func stub(payload []byte) []byte {
	const header, vaddr = 84, 0x81000000
	body := append(append(make([]byte, 64), falseMagic...), payload...)
	b := []byte("\x7fELF\x01\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	be := binary.BigEndian
	b = be.AppendUint16(be.AppendUint16(b, 2), 8)
	for _, w := range []uint32{1, vaddr, 52, 0, 0x50001000} {
		b = be.AppendUint32(b, w)
	}
	for _, h := range []uint16{52, 32, 1, 40, 0, 0} {
		b = be.AppendUint16(b, h)
	}
	for _, w := range []uint32{1, header, vaddr, vaddr, uint32(len(body)), uint32(len(body)), 5, 4096} {
		b = be.AppendUint32(b, w)
	}
	return append(b, body...)
}

// TestOpen: a kernel is found in every wrapper, and linked where its names and its code say.
func TestOpen(t *testing.T) {
	a, arm := kernels.ARM64()
	m, mipsel := kernels.MIPS()
	c7, linux7 := kernels.ARM64Linux7()
	for name, c := range map[string]struct {
		data []byte
		code *kernels.Code
	}{
		"Image":                    {arm, a},
		"Image.gz":                 {packed(t, arm), a},
		"Image of Linux 7":         {linux7, c7},
		"EFI zboot":                {zboot(packed(t, arm)), a},
		"uImage of an Image.gz":    {uImageOf(22, 0x80000, packed(t, arm)), a},
		"uImage, MIPS":             {uImageOf(5, 0x80100000, packed(t, mipsel)), m},
		"uImage, MIPS, not packed": {uImageOf(5, 0x80100000, mipsel), m},
		"ELF with a payload":       {stub(packed(t, mipsel)), m},
	} {
		t.Run(name, func(t *testing.T) {
			img, err := parse(c.data)
			if err != nil {
				t.Fatal(err)
			}
			if lo, _ := img.Segments.Bounds(); lo != c.code.Link || len(img.Issues) > 0 {
				t.Errorf("linked at %#x, want %#x; %v", lo, c.code.Link, img.Issues)
			}
			at := c.code.Symbols()[123].Addr
			if s, ok := img.Symbols.At(at + 8); !ok || s.Name != "function123" || s.Addr != at || !img.Segments.Executable(at) {
				t.Errorf("at %#x: %+v", at, s)
			}
			if b := Banner(img); b != kernels.Banner || Release(b) != "6.1.0-synth" {
				t.Errorf("banner %q", b)
			}
		})
	}
}

// TestRelocatable: an arm64 kernel's table of names counts from 0; its relocation table
// says where it is linked.
func TestRelocatable(t *testing.T) {
	c, data := kernels.ARM64()
	base := bytes.LastIndex(data, binary.LittleEndian.AppendUint64(nil, c.Base))
	binary.LittleEndian.PutUint64(data[base:], 0)
	for _, v := range []uint64{c.Link + uint64(base), rAArch64Relative, c.Base} {
		data = binary.LittleEndian.AppendUint64(data, v)
	}
	img, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := img.Symbols.Named("function7"); !ok || s.Addr != c.Symbols()[7].Addr {
		t.Errorf("function7 at %#x, want %#x; %v", s.Addr, c.Symbols()[7].Addr, img.Issues)
	}
}

// TestPointersDisagree: a kernel whose names count from its first byte, and whose pointers to functions do not say
// where that is, keeps its names, from the address 0 on.
func TestPointersDisagree(t *testing.T) {
	c, data := kernels.ARM64Linux7()
	first := bytes.Index(data, binary.LittleEndian.AppendUint64(nil, c.Symbols()[0].Addr))
	for i := range 100 {
		at := data[first+8*i:]
		binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)+uint64(pageSize*i))
	}
	img, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := img.Symbols.Named("function7"); !ok || s.Addr != c.Symbols()[7].Addr-c.Link || len(img.Issues) != 1 {
		t.Errorf("function7 at %#x; %v", s.Addr, img.Issues)
	}
}

// TestSegmentOfNames: an ELF file's names that count from the file's bytes are moved by the segment that they lie in.
func TestSegmentOfNames(t *testing.T) {
	segments := image.Segments{{Addr: 0xffffffff81000000, FileOff: 0x200000, Data: make([]byte, 0x100)},
		{Addr: 0xffffffff83000000, FileOff: 0x400000, Data: make([]byte, 0x100)}}
	if got := uint64(0x2000f0) + linkOffset(segments, 0x2000f0); got != 0xffffffff810000f0 {
		t.Errorf("a byte of the first segment lies at %#x", got)
	}
}

// TestNoKernel: a compressed file of something else is one line of error.
func TestNoKernel(t *testing.T) {
	for name, data := range map[string][]byte{
		"text":      packed(t, []byte(strings.Repeat("no kernel ", 20000))),
		"truncated": packed(t, bytes.Repeat([]byte{1, 2, 3}, 50000))[:60],
		"uImage":    uImageOf(5, 0x80100000, make([]byte, 1<<17)),
	} {
		if _, err := parse(data); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(zboot([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3}))
	f.Add(stub(falseMagic))
	head := make([]byte, 0x300)
	copy(head[0x202:], "HdrS\x0f\x02")
	f.Add(head)
	f.Add(append(make([]byte, 0x38), "ARM\x64\x00\x00\x00\x00Linux version 6.1 x\x00"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := parse(data)
		if err != nil {
			return
		}
		img.Symbols.At(0x80100000)
		Banner(img)
	})
}

// TestRelocations: words that a relocatable kernel makes pointers when it starts are pointers; fewer entries
// than a kernel has, one that leads nowhere among them, are no table.
func TestRelocations(t *testing.T) {
	const base, size, at = 0xffff800008000000, 0x4000, 0x2000
	build := func(entries int) []byte {
		data := make([]byte, size)
		for i := range entries {
			e := data[at+relaSize*i:]
			binary.LittleEndian.PutUint64(e, base+uint64(8*i))
			binary.LittleEndian.PutUint64(e[8:], rAArch64Relative)
			binary.LittleEndian.PutUint64(e[16:], base+0x1000+uint64(i))
		}
		return data
	}
	p := &payload{data: build(100), arch: arm64.Archs()[0]}
	file := p.data
	if got := p.relocate(base); got != (span{at, at + 100*relaSize}) {
		t.Errorf("table %#x", got)
	}
	if got := binary.LittleEndian.Uint64(p.data[8*99:]); got != base+0x1000+99 {
		t.Errorf("the last word is %#x", got)
	}
	if binary.LittleEndian.Uint64(file[8*99:]) != 0 {
		t.Error("the file's own bytes were changed")
	}
	short := &payload{data: build(fewestRelocations - 1), arch: p.arch, owned: true}
	beyond := &payload{data: build(100), arch: p.arch, owned: true}
	binary.LittleEndian.PutUint64(beyond.data[at+relaSize*50:], base+size-4)
	for _, p := range []*payload{short, beyond} {
		if got := p.relocate(base); got != (span{}) {
			t.Errorf("table %#x", got)
		}
	}
}

// TestBeginsBehindReturns: a function of ARM begins behind another's end, which most often loads the PC, with frame
// pointers and without; not behind a return under a condition, nor behind a load of other registers.
func TestBeginsBehindReturns(t *testing.T) {
	armhf := arm.Archs()[0]
	for word, want := range map[uint32]bool{
		0xe12fff1e: true,  // bx lr
		0xe8bd8010: true,  // pop {r4, pc}
		0xe89da830: true,  // ldm sp, {r4, r5, fp, sp, pc}
		0x089da830: false, // ldmeq sp, {r4, r5, fp, sp, pc}
		0xe8bd4010: false, // pop {r4, lr}
	} {
		code := binary.LittleEndian.AppendUint32([]byte{0, 0, 0xa0, 0xe1}, word) // mov r0, r0
		code = binary.LittleEndian.AppendUint64(code, 0xe92dd800_e1a0c00d)       // mov ip, sp; push {fp, ip, lr, pc}
		if got := beginsAt(armhf, code, 8); got != want {
			t.Errorf("behind %#08x a function begins: %v", word, got)
		}
	}
}
