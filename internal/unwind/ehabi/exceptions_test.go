package ehabi

import (
	"testing"

	"github.com/backsight/backsight/internal/cpu/arm"
)

// TestExceptions: behind the bytecodes of an entry with a personality routine of its own stand the data for exceptions; entries of the
// ABI's own routines, and functions that cannot be unwound, have none.
func TestExceptions(t *testing.T) {
	img := tables(arm.Archs()[0], []uint32{extabAt, 0x80b0b0b0, cantUnwind}, 0x100, 0x01b0b0b0, 0xb0b0b0b0, 0xff)
	for k, want := range []uint64{extabAt + 12, 0, 0} {
		at := uint64(textAt + 0x100*k)
		lo, hi, lsda, known := Source{}.Exceptions(img, at+4)
		if !known || lo != at || hi != at+0x100 && k < 2 || lsda != want {
			t.Errorf("%d: %#x to %#x, %#x, %v", k, lo, hi, lsda, known)
		}
	}
	if _, _, _, known := (Source{}).Exceptions(img, textAt-4); known {
		t.Error("known in front of all functions")
	}
}
