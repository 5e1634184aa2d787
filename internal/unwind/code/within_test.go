package code

import (
	"testing"

	"github.com/backsight/backsight/internal/code/codetest"
)

// TestWithinInstruction: the bytes at 0x400008 would be a call through a pointer, but are the end of
// one instruction, another one, and the beginning of a third.
func TestWithinInstruction(t *testing.T) {
	m, _ := placed(t, codetest.Program{CPU: "i386", Entry: 0x400000, Listing: `
	400000 <f>:
		400000: 83 ec 0c           sub  $12,%esp
		400003: 8d 83 30 00 ff ff  lea  -0xffd0(%ebx),%eax
		400009: 50                 push %eax
		40000a: e8 11 00 00 00     call 400020
		40000f: 83 c4 10           add  $16,%esp
		400012: c3                 ret
		400013: ff 50 e8           call *-0x18(%eax)
	400020 <g>:
		400020: c3                 ret`})
	w := New(nil).Witnesses()
	for pc, want := range map[uint64]bool{0x400008: true, 0x400009: false, 0x40000a: false, 0x400014: false, 0x500000: false} {
		if got := w.WithinInstruction(m, pc, 0); got != want {
			t.Errorf("%#x: %t, want %t", pc, got, want)
		}
	}
	if w.WithinInstruction(nil, 0x400008, 0) {
		t.Error("a place outside all modules lies within an instruction")
	}
}
