package arm

import (
	"math/rand/v2"
	"testing"

	"github.com/backsight/backsight/cpu"
)

// TestFormsA32: what a form makes of a word is what the encoding tables make of it.
func TestFormsA32(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	for i := range formsA32 {
		f, n := &formsA32[i], 0
		for range 4000 {
			w := r.Uint32()&0xf00f_f00f | uint32(i)<<20 | r.Uint32()&0xff0&^f.zero
			if !f.has(w) {
				continue
			}
			n++
			var got, want cpu.Insn
			f.fill(w, &got)
			a32(w, 0x1_0000, &want)
			if got != want {
				t.Fatalf("%08x: %+v, want %+v", w, got, want)
			}
		}
		if f.some != 0 && n < 1000 {
			t.Errorf("form %#x has only %d words", i, n)
		}
	}
}
