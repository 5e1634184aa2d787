package elf

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"math/rand"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

func deflate(data []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func zstandard(data []byte) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll(data, nil)
}

func xzip(t testing.TB, data []byte, blockSize int64) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := xz.WriterConfig{BlockSize: blockSize, DictCap: 1 << 16}.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// chdr puts a compression header before a stream.
func (e *build) chdr(typ uint32, size uint64, stream []byte) []byte {
	b := e.buf()
	b.u32(typ)
	if e.wide {
		b.u32(0)
	}
	b.word(size, 1)
	return append(b.b, stream...)
}

func zdebug(size uint64, stream []byte) []byte {
	return append(binary.BigEndian.AppendUint64([]byte("ZLIB"), size), stream...)
}

// sample is data that compresses about as well as DWARF does.
func sample(n int) []byte {
	r, out := rand.New(rand.NewSource(1)), make([]byte, n)
	for i := range out {
		if i%4 == 0 {
			out[i] = byte(r.Intn(64))
		}
	}
	return out
}

func TestCompressedSections(t *testing.T) {
	want := sample(100_000)
	size := uint64(len(want))
	for _, e := range []build{{}, {wide: true}, {big: true, machine: emMIPS}, {wide: true, big: true, machine: emMIPS}} {
		e.secs = []sec{
			text(0x1000, 16),
			{name: ".debug_info", flags: shfCompressed, data: e.chdr(elfcompressZlib, size, deflate(want))},
			{name: ".debug_line", flags: shfCompressed, data: e.chdr(elfcompressZstd, size, zstandard(want))},
			{name: ".zdebug_frame", data: zdebug(size, deflate(want))},
		}
		img := parse(t, e.bytes())
		for _, name := range []string{".debug_info", ".debug_line", ".debug_frame"} {
			if s, ok := img.Sections.Named(name); !ok || !bytes.Equal(s.Data, want) {
				t.Errorf("%s: %t, %d bytes", name, ok, len(s.Data))
			}
		}
	}
}

// A stream must hold what the header claims, and no header makes memory of a
// small stream.
func TestDamagedCompression(t *testing.T) {
	e := build{wide: true}
	good := sample(10_000)
	z, zs := deflate(good), zstandard(good)
	zeros := make([]byte, 8<<20)
	bomb, zbomb := deflate(zeros), zstandard(zeros)
	broken := bytes.Clone(z)
	broken[len(broken)/2] ^= 0x55
	sum := bytes.Clone(z)
	sum[len(sum)-1] ^= 1
	sections := map[string][]byte{
		".debug_short":  e.chdr(elfcompressZlib, 10_001, z),
		".debug_huge":   e.chdr(elfcompressZlib, ^uint64(0), z),
		".debug_bomb":   e.chdr(elfcompressZlib, 8<<20, bomb),
		".debug_zbomb":  e.chdr(elfcompressZstd, 8<<20, zbomb),
		".debug_zshort": e.chdr(elfcompressZstd, 10_001, zs),
		".debug_cut":    e.chdr(elfcompressZlib, 10_000, z[:len(z)/2]),
		".debug_zcut":   e.chdr(elfcompressZstd, 10_000, zs[:len(zs)/2]),
		".debug_broken": e.chdr(elfcompressZlib, 10_000, broken),
		".debug_sum":    e.chdr(elfcompressZlib, 10_000, sum),
		".debug_nosum":  e.chdr(elfcompressZlib, 10_000, z[:len(z)-1]),
		".debug_head":   e.chdr(elfcompressZlib, 10_000, z[1:]),
		".debug_dict":   e.chdr(elfcompressZlib, 10_000, append([]byte{0x78, 0xbb}, z[2:]...)),
		".debug_other":  e.chdr(7, 10_000, z),
		".debug_chdr":   {1, 0, 0},
		".debug_none":   nil,
	}
	e.secs = []sec{text(0x1000, 16), {name: ".zdebug_old", data: zdebug(1<<40, z)}, {name: ".zdebug_magic", data: z}}
	for name, data := range sections {
		e.secs = append(e.secs, sec{name: name, flags: shfCompressed, data: data})
	}
	sections[".debug_old"], sections[".debug_magic"] = nil, nil
	img := parse(t, e.bytes())
	before := allocated()
	for name := range sections {
		if s, ok := img.Sections.Named(name); ok {
			t.Errorf("%s: %d bytes", name, len(s.Data))
		}
	}
	if n := allocated() - before; n > 4<<20 {
		t.Errorf("damaged sections cost %d bytes", n)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestOneStreamInManySections: what a file's sections decompress to is bounded together.
func TestOneStreamInManySections(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	e := build{wide: true, secs: []sec{text(0x1000, 16)}}
	const size = 8 << 20
	data := make([]byte, size)
	for i, r := range rand.New(rand.NewSource(1)).Perm(size / 200) { // shrinks by fifty
		copy(data[i*200:], bytes.Repeat([]byte{byte(r), byte(r >> 8)}, 100))
	}
	packed := e.chdr(elfcompressZlib, size, deflate(data))
	for i := range 40 {
		e.secs = append(e.secs, sec{name: fmt.Sprintf(".debug_%d", i), flags: shfCompressed, data: packed})
	}
	img, total := parse(t, e.bytes()), 0
	for i := range 40 {
		s, _ := img.Sections.Named(fmt.Sprintf(".debug_%d", i))
		total += len(s.Data)
	}
	if most := expansionFloor + expansionPerByte*len(e.bytes()); total == 0 || total > most || total == 40*size {
		t.Errorf("%d bytes came out, at most %d may", total, most)
	}
}

func TestXZ(t *testing.T) {
	want := sample(100_000)
	random := make([]byte, 70_000) // stored chunks
	rand.New(rand.NewSource(2)).Read(random)
	for name, data := range map[string][]byte{"text": want, "random": random, "empty": {}} {
		for _, block := range []int64{1 << 30, 10_000} {
			stream := xzip(t, data, block)
			if size, ok := xzSize(stream); !ok || size != uint64(len(data)) {
				t.Errorf("%s in blocks of %d: size %d, %t", name, block, size, ok)
			}
			if got, ok := unxz(stream); !ok || !bytes.Equal(got, data) {
				t.Errorf("%s in blocks of %d: %t, %d bytes", name, block, ok, len(got))
			}
		}
	}
}

// Block headers may ask for 3 GB of dictionary; the second block's header is as
// able to as the first one's.
func TestXZDictionary(t *testing.T) {
	stream := xzip(t, sample(30_000), 10_000)
	blocks := 0
	for at := range len(stream) - 2 {
		if stream[at] != 0x21 || stream[at+1] != 1 { // LZMA2, one byte of properties
			continue
		}
		blocks++
		greedy := bytes.Clone(stream)
		greedy[at+2] = 39
		if _, ok := xzSize(greedy); ok {
			t.Errorf("block header at %#x is accepted", at)
		}
	}
	if blocks < 3 {
		t.Errorf("%d block headers", blocks)
	}
}

func TestDamagedXZ(t *testing.T) {
	stream := xzip(t, sample(3_000), 1_000)
	for n := 0; n < len(stream); n += 3 {
		if _, ok := unxz(stream[:n]); ok {
			t.Errorf("the first %d of %d bytes are a whole stream", n, len(stream))
		}
	}
	bomb := xzip(t, make([]byte, 4<<20), 1<<30)
	if _, ok := unxz(bomb); ok {
		t.Errorf("a bomb of %d bytes went off", len(bomb))
	}
}

func TestMiniDebugInfo(t *testing.T) {
	inner := build{wide: true, noSegments: true}
	inner.secs = append([]sec{{name: ".text", typ: shtNobits, flags: shfAlloc | shfExecinstr, addr: 0x1000, size: 0x100}},
		inner.symtab(".symtab", ".strtab", tsym{name: "hidden", value: 0x1010, size: 16, info: localFunc, shndx: 1})...)
	for _, block := range []int64{1 << 30, 100} {
		e := build{wide: true}
		e.secs = append([]sec{text(0x1000, 0x100), {name: ".gnu_debugdata", data: xzip(t, inner.bytes(), block)}},
			e.symtab(".dynsym", ".dynstr", tsym{name: "public", value: 0x1020, size: 16, info: globalFunc, shndx: 1})...)
		img := parse(t, e.bytes())
		for addr, want := range map[uint64]string{0x1014: "hidden", 0x1024: "public"} {
			if s, _ := img.Symbols.At(addr); s.Name != want {
				t.Errorf("SymbolAt(%#x) = %q, want %q", addr, s.Name, want)
			}
		}
	}
}

// Whatever xz decodes has the size that was measured before.
func FuzzUnxz(f *testing.F) {
	f.Add(xzip(f, sample(300), 100))
	f.Add(xzip(f, nil, 100))
	f.Fuzz(func(t *testing.T, stream []byte) {
		data, ok := unxz(stream)
		if size, measured := xzSize(stream); ok && (!measured || size != uint64(len(data))) {
			t.Errorf("measured %d, %t, decoded %d", size, measured, len(data))
		}
	})
}
