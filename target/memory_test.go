package target

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

var (
	little32 = &cpu.Arch{AddrSize: 4}
	big32    = &cpu.Arch{AddrSize: 4, BigEndian: true}
	little64 = &cpu.Arch{AddrSize: 8}
	big64    = &cpu.Arch{AddrSize: 8, BigEndian: true}
)

// oracle is memory as a map of bytes: the obvious, slow way.
type oracle map[uint64]struct {
	value byte
	perm  Perm
}

func (o oracle) add(addr uint64, data []byte, zero uint64, perm Perm) {
	for i, b := range append(bytes.Clone(data), make([]byte, zero)...) {
		c := o[addr+uint64(i)]
		c.value, c.perm = b, perm
		o[addr+uint64(i)] = c
	}
}

// TestOverlapsAgainstOracle: wherever segments overlap, the one added last wins,
// byte by byte, whatever the order and the shape.
func TestOverlapsAgainstOracle(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var b Builder
		want := make(oracle)
		for n := rng.IntN(12); n >= 0; n-- {
			addr, zero, perm := 16+rng.Uint64N(80), rng.Uint64N(10), Perm(rng.IntN(3))
			data := make([]byte, rng.IntN(24))
			for i := range data {
				data[i] = byte(1 + rng.IntN(255))
			}
			b.Add(addr, data, zero, perm)
			want.add(addr, data, zero, perm)
		}
		m := b.Memory(little64)
		checkSegments(t, seed, m)
		for addr := range uint64(160) {
			checkByte(t, seed, m, want, addr)
			checkRead(t, seed, m, want, addr, 1+rng.IntN(40))
		}
	}
}

// checkSegments: sorted, not overlapping, not empty.
func checkSegments(t *testing.T, seed uint64, m *Memory) {
	end := uint64(0)
	for _, s := range m.Segments() {
		if s.Addr < end || s.Size() == 0 {
			t.Fatalf("seed %d: segment at %d of %d bytes after the end %d", seed, s.Addr, s.Size(), end)
		}
		end = s.Addr + s.Size()
	}
}

func checkByte(t *testing.T, seed uint64, m *Memory, want oracle, addr uint64) {
	c, ok := want[addr]
	if v, got := m.Uint(addr, 1); got != ok || v != uint64(c.value) {
		t.Fatalf("seed %d: byte at %d = %#x, %v; want %#x, %v", seed, addr, v, got, c.value, ok)
	}
	if p, got := m.PermAt(addr); got != ok || p != c.perm {
		t.Fatalf("seed %d: permissions at %d = %d, %v; want %d, %v", seed, addr, p, got, c.perm, ok)
	}
	if r := m.RangeAt(addr); ok != (r.Lo < r.Hi && addr < r.Hi) {
		t.Fatalf("seed %d: range at %d = %v, captured %v", seed, addr, r, ok)
	} else if ok {
		checkRange(t, seed, want, r, c.perm)
	}
}

// checkRange: a range holds captured bytes of one permission, as many as there are.
func checkRange(t *testing.T, seed uint64, want oracle, r Range, perm Perm) {
	for a := r.Lo; a < r.Hi; a++ {
		if c, ok := want[a]; !ok || c.perm != perm {
			t.Fatalf("seed %d: range %v has a gap or other permissions at %d", seed, r, a)
		}
	}
	for _, a := range []uint64{r.Lo - 1, r.Hi} {
		if c, ok := want[a]; ok && c.perm == perm {
			t.Fatalf("seed %d: range %v leaves out %d", seed, r, a)
		}
	}
}

func checkRead(t *testing.T, seed uint64, m *Memory, want oracle, addr uint64, size int) {
	var bytesWanted []byte
	for len(bytesWanted) < size {
		c, ok := want[addr+uint64(len(bytesWanted))]
		if !ok {
			break
		}
		bytesWanted = append(bytesWanted, c.value)
	}
	got := make([]byte, size)
	if n := m.Read(addr, got); !bytes.Equal(got[:n], bytesWanted) {
		t.Fatalf("seed %d: read at %d = % x, want % x", seed, addr, got[:n], bytesWanted)
	}
}

// TestWordsAcrossSegments: a word whose bytes lie in two segments, or in data and
// the zeros behind it, is read as if it lay in one.
func TestWordsAcrossSegments(t *testing.T) {
	for _, tt := range []struct {
		arch *cpu.Arch
		addr uint64
		want uint64
		ok   bool
	}{
		{little32, 0x1000, 0x04030201, true},
		{big32, 0x1000, 0x01020304, true},
		{little32, 0x1002, 0x06050403, true}, // two segments
		{big32, 0x1002, 0x03040506, true},
		{big64, 0x1000, 0x0102030405060708, true},
		{little64, 0x1000, 0x0807060504030201, true},
		{big32, 0x1006, 0x07080000, true}, // data and zeros
		{little32, 0x100a, 0, true},       // zeros
		{little32, 0x100c, 0, false},      // past the end
		{little32, 0xfff, 0, false},       // begins before the first byte
		{little32, 0x1_0000_1000, 0x04030201, true},
		{little64, 0x1_0000_1000, 0, false},
	} {
		t.Run(fmt.Sprintf("%#x", tt.addr), func(t *testing.T) {
			var b Builder
			b.Add(0x1000, []byte{1, 2, 3, 4}, 0, PermRead)
			b.Add(0x1004, []byte{5, 6, 7, 8}, 6, PermRead)
			if v, ok := b.Memory(tt.arch).Word(tt.addr); v != tt.want || ok != tt.ok {
				t.Errorf("Word = %#x, %v; want %#x, %v", v, ok, tt.want, tt.ok)
			}
		})
	}
}

// TestEndOfAddressSpace: 32-bit addresses wrap to 0; runs that claim to reach
// past the last address are cut and nothing overflows.
func TestEndOfAddressSpace(t *testing.T) {
	var b Builder
	b.Add(0xffff_fffe, []byte{1, 2}, 0, 0)
	b.Add(0, []byte{3, 4}, 0, 0)
	if v, ok := b.Memory(big32).Word(0xffff_fffe); !ok || v != 0x01020304 {
		t.Errorf("word over the end = %#x, %v", v, ok)
	}

	var top Builder
	top.Add(^uint64(0)-2, []byte{1, 2, 3, 4, 5}, ^uint64(0), 0)
	m := top.Memory(little64)
	if s := m.Segments(); len(s) != 1 || s[0].Size() != 2 {
		t.Errorf("segments at the top: %v", s)
	}
	if _, ok := m.Word(^uint64(0) - 2); ok {
		t.Error("a word past the last address")
	}
}

// TestWholeAddressSpace: a segment may claim everything; only what it has counts.
func TestWholeAddressSpace(t *testing.T) {
	var b Builder
	b.Add(0, []byte{1}, ^uint64(0), PermRead)
	m := b.Memory(little64)
	for _, tt := range []struct{ addr, want uint64 }{{0, 1}, {1 << 40, 0}, {^uint64(0) - 9, 0}} {
		if v, ok := m.Word(tt.addr); !ok || v != tt.want {
			t.Errorf("word at %#x = %#x, %v", tt.addr, v, ok)
		}
	}
	if v, ok := m.Word(^uint64(0) - 3); ok {
		t.Errorf("a word past the end = %#x", v)
	}
}

// BenchmarkRangeAt: the run around an address among as many neighbours as a core of 20 MB can
// list.
func BenchmarkRangeAt(b *testing.B) {
	const n = 1 << 18
	var build Builder
	data := make([]byte, 16)
	for i := range uint64(n) {
		build.Add(0x10000+16*i, data, 0, PermRead)
	}
	m := build.Memory(little64)
	for b.Loop() {
		if r := m.RangeAt(0x10000 + 8*n); r.Hi != 0x10000+16*n {
			b.Fatal(r)
		}
	}
}

// TestRangeAtEnd: a full descending stack has SP at its end when it is empty.
func TestRangeAtEnd(t *testing.T) {
	var b Builder
	b.Add(0x2000, make([]byte, 0x100), 0x100, PermRead|PermWrite)
	b.Add(0x2200, make([]byte, 0x100), 0, PermRead)
	b.Add(0x3000, make([]byte, 0x100), 0, PermRead)
	m := b.Memory(little32)
	for addr, want := range map[uint64]Range{
		0x1fff: {}, 0x2000: {0x2000, 0x2200}, 0x21ff: {0x2000, 0x2200},
		0x2200: {0x2200, 0x2300}, 0x2300: {0x2200, 0x2300}, 0x2301: {}, 0x3100: {0x3000, 0x3100},
	} {
		if got := m.RangeAt(addr); got != want {
			t.Errorf("RangeAt(%#x) = %x, want %x", addr, got, want)
		}
	}
}

// TestReadsDoNotAllocate: the walker reads thousands of words a frame.
func TestReadsDoNotAllocate(t *testing.T) {
	var b Builder
	b.Add(0x1000, make([]byte, 64), 64, 0)
	m := b.Memory(little64)
	if n := testing.AllocsPerRun(100, func() {
		m.Word(0x1008)
		m.Word(0x103c)
		m.PermAt(0x1000)
		m.RangeAt(0x1000)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestNewModule: a module reaches from its image's lowest address to its end, and not
// around the end of the address space.
func TestNewModule(t *testing.T) {
	img := image.New(image.Header{Arch: little32, BuildID: []byte{1}, Segments: []image.Segment{
		{Addr: 0x1000, Size: 0x100}, {Addr: 0x3000, Size: 0x800},
	}}, nil)
	for bias, want := range map[uint64]Range{
		0:                   {0x1000, 0x3800},
		0x40000000:          {0x40001000, 0x40003800},
		0xffffffff_fffff000: {0, 0x2800}, // linked higher than loaded
		0xffffd000:          {0xffffe000, 0xffffffff},
	} {
		m := NewModule("m", img, bias)
		if m.Range != want || m.Image != img || len(m.BuildID) != 1 || m.ToTarget(0x1000) != want.Lo {
			t.Errorf("bias %#x: %+v, want %+v", bias, m, want)
		}
	}
}

// TestModuleAt: modules may lie in one another's gaps.
func TestModuleAt(t *testing.T) {
	s := Snapshot{Modules: []*Module{
		{Name: "c", Range: Range{0x5000, 0x6000}},
		{Name: "outer", Range: Range{0x1000, 0x4000}},
		{Name: "inner", Range: Range{0x2000, 0x3000}},
	}}
	s.SortModules()
	for addr, want := range map[uint64]string{
		0xfff: "", 0x1000: "outer", 0x2000: "inner", 0x2fff: "inner", 0x3000: "outer", 0x4000: "", 0x5fff: "c", 0x6000: "",
	} {
		m, ok := s.ModuleAt(addr)
		if ok != (want != "") || ok && m.Name != want {
			t.Errorf("ModuleAt(%#x) = %v, want %q", addr, m, want)
		}
	}
}

func BenchmarkWord(b *testing.B) {
	var bld Builder
	for i := range uint64(100) {
		bld.Add(0x1000*i, make([]byte, 0x800), 0, 0)
	}
	m := bld.Memory(little64)
	for b.Loop() {
		m.Word(0x20400)
	}
}

// TestMemoryEnds: segments that overlap are cut no longer than the context lasts.
func TestMemoryEnds(t *testing.T) {
	asked := askedContext{Context: t.Context()}
	var b Builder
	b.Until(&asked)
	const n = 1 << 17
	for i := range uint64(n) {
		b.Add((i*0x9e3779b1)%(1<<30), []byte{1, 2}, 0, PermUnknown)
	}
	if got := len(b.Memory(new(cpu.Arch)).Segments()); got >= n/2 || asked.times < 3 {
		t.Errorf("%d segments of %d, and the context was asked %d times", got, n, asked.times)
	}
}

// askedContext ends when it is asked the third time.
type askedContext struct {
	context.Context
	times int
}

func (a *askedContext) Err() error {
	if a.times++; a.times < 3 {
		return nil
	}
	return context.Canceled
}

// TestCString: a string ends at its NUL, also in another segment; without one in reach, there is none.
func TestCString(t *testing.T) {
	var b Builder
	b.Add(0x1000, []byte("/lib"), 0, 0)
	b.Add(0x1004, []byte("c.so\x00rest"), 0, 0)
	m := b.Memory(little64)
	for _, c := range []struct {
		addr uint64
		most int
		want string
	}{{0x1000, 64, "/libc.so"}, {0x1000, 9, "/libc.so"}, {0x1000, 8, ""}, {0x1008, 64, ""}, {0x1009, 64, ""}, {0x2000, 64, ""}} {
		if got := m.CString(c.addr, c.most); got != c.want {
			t.Errorf("%#x, at most %d: %q, want %q", c.addr, c.most, got, c.want)
		}
	}
}

// TestBytesAcross: close to the end of a segment its bytes go on in the next, as the bytes of pages do, so that what is looked at as
// one run, the code before a return address, is there; not across a gap, and not into zeros that the capture only tells of.
func TestBytesAcross(t *testing.T) {
	var b Builder
	b.Add(0x1000, bytes.Repeat([]byte{1}, 0x100), 0, PermRead)
	b.Add(0x1100, bytes.Repeat([]byte{2}, 0x20), 0, PermRead|PermExec)
	b.Add(0x1140, bytes.Repeat([]byte{3}, 0x100), 0x10, PermRead)
	m := b.Memory(little64)
	if got := m.Bytes(0x10f8); len(got) != 0x28 || got[7] != 1 || got[8] != 2 {
		t.Errorf("% x", got)
	}
	for addr, want := range map[uint64]int{0x1000: 0x100, 0x1110: 0x10, 0x1238: 8} {
		if got := m.Bytes(addr); len(got) != want {
			t.Errorf("%#x: %d bytes; want %d", addr, len(got), want)
		}
	}
}
