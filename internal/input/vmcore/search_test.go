package vmcore

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// TestAcross: what a kernel unmapped of its data reads as zeros, and what lies behind is there; but no
// gap is filled that is larger than what was read before.
func TestAcross(t *testing.T) {
	var b target.Builder
	b.Add(0x1000, []byte("text"), 0, target.PermRead)
	b.Add(0x1006, []byte("data"), 0, target.PermRead)
	b.Add(0x1100, []byte("elsewhere"), 0, target.PermRead)
	m := b.Memory(rawWords)
	for _, c := range []struct {
		addr uint64
		n    int
		want string
		run  int
	}{
		{0x1000, 0x1000, "text\x00\x00data", 4},
		{0x1000, 8, "text\x00\x00da", 4},
		{0x1000, 5, "text", 4},
		{0x1006, 0x1000, "data", 4},
		{0xff0, 0x1000, "", 0},
		{0x2000, 0x1000, "", 0},
	} {
		if got, run := across(m, c.addr, c.n); string(got) != c.want || run != c.run {
			t.Errorf("%d bytes from %#x: %q, %d at the beginning; want %q, %d", c.n, c.addr, got, run, c.want, c.run)
		}
	}
}

// pages is paged memory: each page has its address at its beginning, then zeros.
type pages struct{}

func (pages) ReadPage(addr uint64, page []byte) (int, error) {
	clear(page)
	binary.LittleEndian.PutUint64(page, addr)
	return len(page), nil
}

// TestSearchInManySegments: a dump whose bitmap lies has a segment for each second page. A search of
// them all takes a buffer once, and finds nothing in one segment that was left of another.
func TestSearchInManySegments(t *testing.T) {
	const segments, page = 512, 4096
	var b target.Builder
	for i := range uint64(segments) {
		b.AddPaged(2*i*page, page, pages{}, target.PermRead)
	}
	m := b.Memory(rawWords)
	want := []uint64{2 * 300 * page}
	var found []uint64
	took := testing.AllocsPerRun(1, func() {
		found = nil
		search(t.Context(), m, string(binary.LittleEndian.AppendUint64(nil, want[0])), func(addr uint64) bool {
			found = append(found, addr)
			return true
		})
	})
	if !slices.Equal(found, want) {
		t.Errorf("found at %#x, want %#x", found, want)
	}
	if took > segments/8 {
		t.Errorf("%v allocations for %d segments", took, segments)
	}
}

// TestStartGone: addresses in the code of the kernel's start are executable, though memory shows none of
// that code any more.
func TestStartGone(t *testing.T) {
	k := kernelImage{text: target.Range{Lo: 0x1000, Hi: 0x1004}, start: target.Range{Lo: 0x1008, Hi: 0x100c}}
	for content, code := range map[string]string{"text    init    ": "init", "text    \x00\x00\x00\x00    ": ""} {
		list := k.segments(&cpu.Arch{AddrSize: 8}, []byte(content), 0x800)
		if len(list) != 4 {
			t.Fatalf("%q: %d segments", content, len(list))
		}
		if s := list[2]; s.Addr != 0x808 || s.Size != 4 || !s.Exec || string(s.Data) != code {
			t.Errorf("%q: %+v", content, s)
		}
	}
}
