package target

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/backsight/backsight/cpu"
)

// process is a Pager over bytes at address lo, of which some cannot be read.
type process struct {
	lo    uint64
	data  []byte
	holes map[uint64]int // by address of a page: how many of its bytes can be read
	reads int
}

var errGone = errors.New("the process is gone")

func (p *process) ReadPage(addr uint64, page []byte) (int, error) {
	p.reads++
	n := copy(page, p.data[addr-p.lo:])
	if short, ok := p.holes[addr]; ok {
		return short, errGone
	}
	return n, nil
}

// newProcess has n bytes at addr, no two words alike.
func newProcess(addr uint64, n int) *process {
	p := &process{lo: addr, data: make([]byte, n), holes: make(map[uint64]int)}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range p.data {
		p.data[i] = byte(rng.Uint32())
	}
	return p
}

func (p *process) memory(arch *cpu.Arch) *Memory {
	var b Builder
	b.AddPaged(p.lo, uint64(len(p.data)), p, PermRead)
	return b.Memory(arch)
}

// TestPagedLikeCaptured: bytes that a Pager reads are as if they had been captured,
// beside and below others, wherever a read begins and ends.
func TestPagedLikeCaptured(t *testing.T) {
	p := newProcess(0x10f00, 3*PageSize) // neither end at a page's
	var lazy, captured Builder
	lazy.AddPaged(p.lo, uint64(len(p.data)), p, PermRead)
	captured.Add(p.lo, p.data, 0, PermRead)
	for _, b := range []*Builder{&lazy, &captured} {
		b.Add(0x11800, []byte("written over it"), 100, PermRead)
		b.Add(p.lo-8, []byte("in front"), 0, PermRead)
	}
	got, want := lazy.Memory(big32), captured.Memory(big32)
	for addr := p.lo - 16; addr < p.lo+uint64(len(p.data))+16; addr++ {
		for _, size := range []int{1, 4, 8} {
			v, ok := got.Uint(addr, size)
			if w, there := want.Uint(addr, size); v != w || ok != there {
				t.Fatalf("%d bytes at %#x = %#x, %v; want %#x, %v", size, addr, v, ok, w, there)
			}
		}
		b, c := got.Bytes(addr), want.Bytes(addr)
		if n := min(len(b), len(c)); !bytes.Equal(b[:n], c[:n]) || n < min(len(c), minRun) {
			t.Fatalf("%d bytes of %d at %#x", len(b), len(c), addr)
		}
	}
	a, b := make([]byte, 4*PageSize), make([]byte, 4*PageSize)
	if n, m := got.Read(p.lo-8, a), want.Read(p.lo-8, b); n != m || !bytes.Equal(a, b) {
		t.Errorf("%d bytes, want %d", n, m)
	}
	if r := got.RangeAt(0x12000); r != want.RangeAt(0x12000) {
		t.Errorf("range %v", r)
	}
	if p.reads != 4 || got.Err() != nil { // two whole pages, two parts
		t.Errorf("%d pages read, %v", p.reads, got.Err())
	}
}

// TestPagerFails: what a Pager cannot read is not there, however often it is asked for,
// and the rest is. The first error is told.
func TestPagerFails(t *testing.T) {
	p := newProcess(0x1000, 4*PageSize)
	p.holes[0x2000], p.holes[0x3000] = 0, 0x806 // unmapped; cut short within a word
	m := p.memory(little32)
	if m.Err() != nil {
		t.Errorf("an error before any read: %v", m.Err())
	}
	for range 3 {
		for _, c := range []struct {
			addr uint64
			ok   bool
		}{{0x1ffc, true}, {0x1ffe, false}, {0x2000, false}, {0x2ffe, false}, {0x3000, true}, {0x3802, true}, {0x3804, false}, {0x4000, true}} {
			if _, ok := m.Word(c.addr); ok != c.ok {
				t.Errorf("word at %#x: %v", c.addr, ok)
			}
		}
	}
	if b := m.Bytes(0x3800); len(b) != 6 {
		t.Errorf("%d bytes before the cut", len(b))
	}
	if n := m.Read(0x1000, make([]byte, 3*PageSize)); n != PageSize {
		t.Errorf("%d bytes before the gap", n)
	}
	if p.reads != 4 || !errors.Is(m.Err(), errGone) {
		t.Errorf("%d pages read, %v", p.reads, m.Err())
	}
}

// liar is a Pager that returns more bytes than it was asked for, or fewer than none.
type liar int

func (l liar) ReadPage(uint64, []byte) (int, error) { return int(l), nil }

// TestPagerLies: a pager that claims to have read fewer bytes than none, or more than asked for, does no harm.
func TestPagerLies(t *testing.T) {
	for l, want := range map[liar]bool{-1: false, 1 << 20: true} {
		var b Builder
		b.AddPaged(0x1000, 2*PageSize, l, PermRead)
		if _, ok := b.Memory(little32).Word(0x1ffe); ok != want {
			t.Errorf("%d bytes: %v", int(l), ok)
		}
	}
}

// TestPagesAreBounded: reading through a large range keeps no more than maxPages; a page
// that made room is read again.
func TestPagesAreBounded(t *testing.T) {
	p := newProcess(0, (maxPages+10)*PageSize)
	m := p.memory(little64)
	for addr := uint64(0); addr < uint64(len(p.data)); addr += PageSize / 2 {
		if _, ok := m.Word(addr); !ok {
			t.Fatalf("no word at %#x", addr)
		}
	}
	kept := m.Segments()[0].pages
	if p.reads != maxPages+10 || len(kept.kept) != maxPages || len(kept.order) != maxPages {
		t.Errorf("%d reads, %d pages kept", p.reads, len(kept.kept))
	}
	if _, ok := m.Word(0); !ok || p.reads != maxPages+11 {
		t.Errorf("%d reads after the first page was asked for again", p.reads)
	}
}

// TestPagesOfManyReaders: walkers of several threads share a Memory.
func TestPagesOfManyReaders(t *testing.T) {
	p := newProcess(0, 64*PageSize)
	m := p.memory(little64)
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for addr := uint64(0); addr < uint64(len(p.data)); addr += 1000 {
				if b := m.Bytes(addr); len(b) == 0 || b[0] != p.data[addr] {
					t.Errorf("byte at %#x", addr)
				}
			}
		})
	}
	readers.Wait()
	if p.reads != 64 {
		t.Errorf("%d reads of 64 pages", p.reads)
	}
}

// TestEndOfPagedRange: a range may claim the last address; nothing overflows.
func TestEndOfPagedRange(t *testing.T) {
	var b Builder
	b.AddPaged(^uint64(0)-2*PageSize, ^uint64(0), liar(PageSize), 0)
	m := b.Memory(little64)
	if _, ok := m.Word(^uint64(0) - 9); !ok {
		t.Error("a word at the end")
	}
	if _, ok := m.Word(^uint64(0) - 3); ok {
		t.Error("a word past the last address")
	}
}

// TestLargeReads: who reads much at once has each page read once and none kept, up to what cannot be read; pages that were kept
// before are not asked for again.
func TestLargeReads(t *testing.T) {
	const size = 64 * PageSize
	for hole, want := range map[uint64]int{0: size, 0x10000 + 40*PageSize: 40*PageSize + 7} {
		p := newProcess(0x10000, size)
		if hole != 0 {
			p.holes[hole] = 7
		}
		m := p.memory(big32)
		m.Bytes(0x10000 + 5*PageSize)
		for _, from := range []uint64{0, 100} {
			p.reads = 0
			dst := make([]byte, size-from)
			if n := m.Read(0x10000+from, dst); n != want-int(from) || !bytes.Equal(dst[:n], p.data[from:][:n]) {
				t.Errorf("hole %#x, from %d: %d bytes", hole, from, n)
			}
			if p.reads > size/PageSize-1 {
				t.Errorf("%d pages were read", p.reads)
			}
		}
		if kept := len(m.segs[0].pages.kept); kept > passing/PageSize+1 {
			t.Errorf("%d pages are kept", kept)
		}
	}
}
