package tasks

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/target"
)

// TestStackSize: stacks are aligned to their size. Mapped one by one (CONFIG_VMAP_STACK), they
// are aligned to twice their size, and end where memory does.
func TestStackSize(t *testing.T) {
	const stacks, text, taskAt, apart = 0x1000_0000, 0x40_0000, 0x2000_0000, 0x8000
	for _, c := range []struct {
		name         string
		align, bytes uint64
	}{
		{"in the linear mapping", 0x4000, 0x4000},
		{"mapped one by one", 0x8000, 0x4000},
	} {
		var b target.Builder
		tasks := make([]byte, 3*apart)
		kernel := &Kernel{Arch: arm64.Archs()[0], Text: target.Range{Lo: text, Hi: text + 0x1000}}
		f := finder{reader: reader{ctx: t.Context(), Kernel: kernel, word: 8}, layout: layout{context: field{0x40, true}}}
		for i := range uint64(3) {
			stack := stacks + c.align*i
			b.Add(stack, make([]byte, c.bytes), 0, target.PermUnknown)
			at := tasks[apart*i:]
			binary.LittleEndian.PutUint64(at[0x10:], stack)
			binary.LittleEndian.PutUint64(at[0x40+8*11:], stack+c.bytes-0x100)
			binary.LittleEndian.PutUint64(at[0x40+8*12:], text+0x10)
			f.found = append(f.found, taskAt+apart*i)
		}
		b.Add(taskAt, tasks, 0, target.PermUnknown)
		f.Memory = b.Memory(&cpu.Arch{AddrSize: 8})
		if f.findStack(); !f.stack.known || f.stack.at != 0x10 || f.stackSize != c.bytes {
			t.Errorf("%s: at %#x, %#x bytes", c.name, f.stack.at, f.stackSize)
		}
	}
}
