package diagnose

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
)

// TestHeap: where an address lies in glibc's heap, and behind it.
func TestHeap(t *testing.T) {
	const heap = 0x55550000
	amd64, i386 := archNamed(t, "x86_64"), archNamed(t, "i386")
	chunks := synth.Stack(amd64).
		Words(0, 0x21, 1, 2).       // a block of 24 bytes
		Words(3, 0x31, 4, 5, 6, 7). // of 40, behind the first, whose last word is here
		Words(0, 0x41, 0, 0, 0, 0, 0, 0).Place(heap)
	broken := synth.Stack(amd64).Words(0, 0x21, 1, 2).Words(0x4141, 0x4141, 0, 0).Place(heap)
	text := synth.Stack(amd64).Words(0x6c6c6548, 0x2c6f, 0, 0).Place(heap)
	moved := synth.Stack(i386).Words(0, 0, 0, 0x11, 1, 2, 0, 0x11, 0, 0).Place(heap)
	for _, c := range []struct {
		arch *cpu.Arch
		what string
		heap synth.Placed
		addr uint64
		want string
	}{
		{amd64, "within a block", chunks, heap + 0x10, "a block of 24 bytes on the heap, 0 bytes into it"},
		{amd64, "the last word", chunks, heap + 0x38, "a block of 40 bytes on the heap, 8 bytes into it"},
		{amd64, "a size", chunks, heap + 0x28, "the header of a block of 40 bytes on the heap"},
		{amd64, "what is free", chunks, heap + 0x70, "free memory of the heap"},
		{amd64, "behind the heap", chunks, heap + 0x90, "right behind the end of free memory of the heap"},
		{amd64, "further behind", chunks, heap + 0x91, "1 bytes behind the end of free memory of the heap"},
		{amd64, "far behind", chunks, heap + 0x20000, ""},
		{amd64, "in front of what was written over", broken, heap + 0x10, "writable memory of no file"},
		{amd64, "no heap", text, heap + 8, "writable memory of no file"},
		{i386, "blocks are aligned to 16 bytes", moved, heap + 0x10, "a block of 12 bytes on the heap, 0 bytes into it"},
	} {
		var b target.Builder
		b.Add(c.heap.Base, c.heap.Data, 0, target.PermRead|target.PermWrite)
		snap := &target.Snapshot{Arch: c.arch, OS: "Linux", Memory: b.Memory(c.arch)}
		got := placeOf(snap, c.addr)
		if got == "" {
			got = behind(snap, c.addr)
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", c.what, got, c.want)
		}
	}
}
