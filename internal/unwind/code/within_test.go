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

// TestWithinInstructionPointed: only a pointer leads to the function that has the bytes of a call, as in front of
// 0x19aa38 of libcrypto for i386: the last byte of a call, push %eax, the first byte of a push.
func TestWithinInstructionPointed(t *testing.T) {
	for pointer, want := range map[uint64]bool{0x400010: true, 0: false} {
		m, _ := placed(t, codetest.Program{CPU: "i386", Entry: 0x400000, Data: map[uint64][]uint64{0x410000: {pointer}}, Listing: `
	400000 <start>:
		400000: c3              ret
		400010: 83 ec 08        sub  $8,%esp
		400013: e8 08 10 ea ff  call 2a1020
		400018: 50              push %eax
		400019: 68 01 00 00 00  push $1
		40001e: 83 c4 10        add  $16,%esp
		400021: c3              ret`})
		if got := New(nil).Witnesses().WithinInstruction(m, 0x400017, 0); got != want {
			t.Errorf("pointer %#x: %t", pointer, got)
		}
	}
}
