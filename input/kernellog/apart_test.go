package kernellog

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu/arm64"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input/console"
)

// TestApart: a processor of a kernel that moved itself jumped to its stack, which lies where the kernel
// is linked. That place is not the kernel's, whose file is placed apart; a place that has a symbol, and
// one elsewhere, say nothing.
func TestApart(t *testing.T) {
	const linked = 0xffff800008000000
	img := image.New(image.Header{Arch: arm64.Archs()[0], Segments: image.Segments{{Addr: linked, Size: 0x1000000, Exec: true}}}, functions{})
	for at, want := range map[string]uint64{
		"0xffff8000080b3ba8":   0x200000,
		"0xffff800008200000":   0x400000,
		"0xffff8000070b3ba8":   0,
		"leaf_deref+0x18/0x24": 0,
	} {
		k := newKernelLog(console.NewLog([]byte(strings.ReplaceAll(oopses[0].log, "pc : leaf+0x18/0x24 [toy]", "pc : "+at))))
		if got := k.apart(img); got != want {
			t.Errorf("%s: %#x, want %#x", at, got, want)
		}
	}
}
