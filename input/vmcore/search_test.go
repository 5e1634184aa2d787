package vmcore

import (
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
