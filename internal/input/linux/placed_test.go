package linux

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/x86"
)

// TestPlaced: the stacks of an x86-64 kernel lie between its data of each processor, linked at 0, and its
// code. They are not in the kernel.
func TestPlaced(t *testing.T) {
	const text, bias = 0xffffffff81000000, 0x200000
	img := image.New(image.Header{Arch: x86.Archs()[0], Segments: image.Segments{{Size: 0x1000}, {Addr: text, Size: 0x1000, Exec: true}}}, nil)
	m := Placed(img, bias)
	for at, want := range map[uint64]bool{0xffffd0e440093a10: false, text: false, text + bias: true, text + bias + 0x1000: false} {
		if m.Contains(at) != want {
			t.Errorf("%#x is in the kernel: %v", at, !want)
		}
	}
}
