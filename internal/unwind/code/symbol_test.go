package code

import (
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestWithinSymbol: assembly has subroutines within what one symbol with a size names, which it calls with a frame of its own.
func TestWithinSymbol(t *testing.T) {
	program := codetest.Program{CPU: "mips o32 big", Symbols: codetest.Sized, Listing: `
	400000 <f>:
		400000: 27bdffe0  addiu sp,sp,-32
		400004: afbf001c  sw    ra,28(sp)
		400008: 0c10000b  jal   40002c
		40000c: 00000000  nop
		400010: 8fbf001c  lw    ra,28(sp)
		400014: 03e00008  jr    ra
		400018: 27bd0020  addiu sp,sp,32
		40001c: 00000000  nop
		40002c: 27bdfff8  addiu sp,sp,-8       the subroutine
		400030: 24420001  addiu v0,v0,1
		400034: 03e00008  jr    ra
		400038: 27bd0008  addiu sp,sp,8`}
	s, img := New(nil), program.Image(t)
	for pc, want := range map[uint64]string{
		0x400010: "CFA=sp+32 RA=[CFA-4]", 0x40002c: "CFA=sp RA=ra", 0x400030: "CFA=sp+8 RA=ra", 0x400034: "CFA=sp+8 RA=ra",
	} {
		if got := first(s, exact(img, pc, 0)); got != want {
			t.Errorf("%x: %s, want %s", pc, got, want)
		}
	}
}
