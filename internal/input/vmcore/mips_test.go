package vmcore

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/paging"
	"github.com/backsight/backsight/target"
)

// Where a kernel for MIPS64 shows modules, and all memory without tables.
const ckseg, xkphys = 0xffff_ffff_c000_0000, 0x9000_0000_0000_0000

func mips64(t *testing.T) *cpu.Arch {
	a, ok := cpu.Set(mips.Archs()).ByName("mips64", "n64", false)
	if !ok {
		t.Fatal("no little-endian MIPS64")
	}
	return a
}

// TestMIPSScheme: where a page's number begins in an entry depends on the kernel. One bit lower is the
// highest bit of the cache, so that all numbers would be even: three modules' pages, side by side in
// memory, would lie two pages apart.
func TestMIPSScheme(t *testing.T) {
	const root, middle, last, pageAt, pfnShift = 0x1000, 0x3000, 0x4000, 0x10_0000, 14
	ram := make([]byte, 1<<20)
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(ram[at:], v) }
	put(root+8*1023, 0xffff_ffff_8000_0000|middle) // 1024 entries: the first table has two pages
	put(middle, 0xffff_ffff_8000_0000|last)
	for i := range uint64(3) {
		put(last+8*i, (pageAt/4096+i)<<pfnShift|3<<(pfnShift-3)|1)
	}
	var b target.Builder
	b.Add(0, ram, 32<<20, target.PermUnknown)
	tr := translation{ctx: t.Context(), arch: mips64(t), physical: b.Memory(rawWords)}
	s, ok := tr.mipsScheme(root, 12)
	if !ok {
		t.Fatal("no scheme fits")
	}
	tables := paging.Tables{Scheme: s, Physical: tr.words(), Root: root}
	all, err := tables.Mappings(t.Context(), 1<<63)
	if err != nil || len(all) != 1 || all[0].Virtual != ckseg || all[0].Physical != pageAt || all[0].Size != 3*4096 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestModuleInParts: since Linux 6.4 code and data have ranges of their own, and struct module is among
// the data. What follows a size is filler, or on processors of 32 bits a pointer.
func TestModuleInParts(t *testing.T) {
	const code, data = ckseg + 0x8000, ckseg + 0xe000
	for _, behind := range []uint64{0, 0xc032_0380} {
		module := make([]byte, 0x2000)
		put := func(off, v uint64) { binary.LittleEndian.PutUint64(module[0x380+off:], v) }
		copy(module[0x380+24:], "loop")
		put(320, code)
		put(328, behind<<32|0x5000)
		put(384, data)
		put(392, behind<<32|0x2000)
		var b target.Builder
		b.Add(code, make([]byte, 0x5000), 0, target.PermRead|target.PermExec)
		b.Add(data, module, 0, target.PermRead|target.PermWrite)
		arch := mips64(t)
		m, ok := moduleReader{arch, b.Memory(arch)}.loaded(data + 0x380)
		if want := (target.Range{Lo: code, Hi: code + 0x5000}); !ok || m.name != "loop" || m.whole != want || m.text != want {
			t.Errorf("%#x behind the size: %+v, %t", behind, m, ok)
		}
	}
}

// TestModuleOfMIPS: a struct module of Linux 6.1 is in the range that it states. A pointer that stands
// before that leads to other memory, all of which MIPS can execute.
func TestModuleOfMIPS(t *testing.T) {
	const base, at = ckseg + 0x2000, ckseg + 0x3700
	module := make([]byte, 0x4000)
	put := func(off, v uint64) { binary.LittleEndian.PutUint64(module[at-base+off:], v) }
	copy(module[at-base+24:], "crashy")
	put(160, xkphys+0x1000) // not a module's
	put(168, 0x8000)
	put(320, base)
	put(328, 0x1290_0000_2068) // sizes: all, the code
	var b target.Builder
	b.Add(xkphys, make([]byte, 1<<16), 0, target.PermRead|target.PermExec)
	b.Add(base, module, 0, target.PermRead|target.PermExec)
	arch := mips64(t)
	m, ok := moduleReader{arch, b.Memory(arch)}.loaded(at)
	if !ok || m.name != "crashy" || m.whole != (target.Range{Lo: base, Hi: base + 0x2068}) || m.text != (target.Range{Lo: base, Hi: base + 0x1290}) {
		t.Errorf("%+v, %t", m, ok)
	}
}

// TestUnmoved: the kernel moved itself by 64 KB × 0x77. What the file has moves back: a call, the upper half
// of an address, a pointer; so does the jump that a jump label became, and a patched word stays.
func TestUnmoved(t *testing.T) {
	const linked, bias, jal, j, lui, nop = 0x8010_0000, 0x77_0000, 3 << 26, 2 << 26, 0x3c02_0000, 0
	arch, ok := cpu.Set(mips.Archs()).ByName("mips", "o32", true)
	if !ok {
		t.Fatal("no big-endian MIPS")
	}
	words := func(list ...uint32) (b []byte) {
		for _, w := range list {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		return b
	}
	target26 := func(addr uint32) uint32 { return addr >> 2 & (1<<26 - 1) }
	file := words(jal|target26(linked+0x40), lui|0x8012, linked+0x80, nop, 0x2402_0001)
	ran := words(jal|target26(linked+bias+0x40), lui|(0x8012+bias>>16), linked+bias+0x80, j|target26(linked+bias+0x10), 0x2402_0002)
	want := words(jal|target26(linked+0x40), lui|0x8012, linked+0x80, j|target26(linked+0x10), 0x2402_0002)
	img := image.New(image.Header{Arch: arch, Segments: []image.Segment{{Addr: linked, Size: uint64(len(file)), Data: file, Exec: true}}}, nil)
	if got := unmoved(ran, linked, bias, img); !bytes.Equal(got, want) {
		t.Errorf("%x\nwant %x", got, want)
	}
}

// TestRelease6: uname does not tell whether a kernel for MIPS64 is built for release 6, its calls do: balc there, jal elsewhere.
func TestRelease6(t *testing.T) {
	const start, physical = 0xffff_ffff_8010_0000, 0x10_0000
	plain := mips64(t)
	for name, c := range map[string]struct {
		call func(from, to uint32) uint32
		want bool
	}{
		"release 2": {func(_, to uint32) uint32 { return 3<<26 | to>>2&(1<<26-1) }, false},
		"release 6": {func(from, to uint32) uint32 { return 0x3a<<26 | (to-from-4)>>2&(1<<26-1) }, true},
	} {
		code := make([]byte, 0x4000)
		for at := uint32(0); at < 0x4000; at += 64 { // each calls one of four functions
			binary.LittleEndian.PutUint32(code[at:], c.call(start&0xffff_ffff+at, start&0xffff_ffff+at%256*16))
		}
		var b target.Builder
		b.Add(physical, code, 0, target.PermUnknown)
		d := &dump{arch: plain, physical: b.Memory(rawWords)}
		k := identity{offset: start - physical, text: target.Range{Lo: start, Hi: start + 0x4000}}
		got := variantOf(t.Context(), d, mips.Archs(), &k)
		site, ok := got.Decoder.CallBefore(code[:68], start+68, 0) // a jal returns behind its delay slot
		if !c.want {
			site, ok = got.Decoder.CallBefore(code[:72], start+72, 0)
		}
		if (got != plain) != c.want || !ok || site.Addr != start+64 {
			t.Errorf("%s: another variant %t, call before %+v", name, got != plain, site)
		}
	}
}
