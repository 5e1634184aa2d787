package edges

import (
	"testing"

	"github.com/backsight/backsight/internal/code/codetest"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestLeavesException: code that jumps to a function and has it return to a place behind no call
// leads from there to an exception return, if need be through more such code, which has names of its own; an ordinary
// function does not, nor one that jumps to another in place of its return.
func TestLeavesException(t *testing.T) {
	img := codetest.Program{CPU: "arm", Listing: `
	80400000 <ret_fast_syscall>:
		80400000: e59de010  ldr lr,[sp,#16]
		80400004: e28dd018  add sp,sp,#24
		80400008: e1b0f00e  movs pc,lr
	8040000c <function>:
		8040000c: e52de004  push {lr}
		80400010: e49df004  pop {pc}
	80400014 <ret_with_work>:
		80400014: e3110001  tst r1,#1
		80400018: 1a000002  bne 80400028
		8040001c: e59de010  ldr lr,[sp,#16]
		80400020: e28dd018  add sp,sp,#24
		80400024: e1b0f00e  movs pc,lr
	80400028 <work>:
		80400028: ebfffff7  bl 8040000c
		8040002c: eafffffa  b 8040001c
	80400030 <either>:
		80400030: e3110001  tst r1,#1
		80400034: 1afffff4  bne 8040000c
		80400038: e59de010  ldr lr,[sp,#16]
		8040003c: e28dd018  add sp,sp,#24
		80400040: e1b0f00e  movs pc,lr`}.Image(t)
	m := target.NewModule("vmlinux", img, 0x1000)
	for pc, want := range map[uint64]unwind.Answer{0x80401000: unwind.Yes, 0x80401010: unwind.No, 0x80401014: unwind.Yes,
		0x80401030: unwind.Unknown, 0x80500000: unwind.Unknown} {
		if got := New(nil).LeavesException(m, pc, 0); got != want {
			t.Errorf("%#x: %v, want %v", pc, got, want)
		}
	}
	if got := New(nil).LeavesException(nil, 0, 0); got != unwind.Unknown {
		t.Errorf("without a module: %v", got)
	}
}
