package target

import (
	"testing"

	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
)

// TestAddressMask: signatures stand above what is mapped; processors that sign nothing have no mask.
func TestAddressMask(t *testing.T) {
	arch := arm64.Archs()[0]
	for highest, want := range map[uint64]uint64{0x7f_ffff_ffff: 1<<39 - 1, 0x40_0000: 1<<39 - 1, 0xffff_8000_1000: 1<<48 - 1, 1 << 63: ^uint64(0)} {
		if got := AddressMask(arch, highest); got != want {
			t.Errorf("%#x: %#x, want %#x", highest, got, want)
		}
	}
	if got := AddressMask(x86.Archs()[0], 1<<46); got != 0 {
		t.Errorf("%#x", got)
	}
	const signed = 0x0055_ff80_0000_1000 | 1<<54
	if got := Unsigned(signed, AddressMask(arch, 0x7f_8000_0000)); got != 0x1000 {
		t.Errorf("%#x", got)
	}
}
