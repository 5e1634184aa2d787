package discover

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestArrays: unwind tables list no function of crtbegin.o. The one that .fini_array names belongs to what the file declares as far
// as its code is in a line, so that nothing else of the image need be read for it. What stands behind the return, or where a call
// that may not return leads into an aligned place, may be a function that only other code knows.
func TestArrays(t *testing.T) {
	p := codetest.Program{CPU: "x86_64",
		Data:     map[uint64][]uint64{0x3000: {0x1110}, 0x3008: {0x1158, 0x77}},
		Sections: map[string]uint64{".fini_array": 0x3000, ".init_array": 0x3008},
		Listing: `
		1110: f3 0f 1e fa     endbr64                  <__do_global_dtors_aux>
		1114: 80 3d 00 00 00 00 00  cmpb $0,completed
		111b: 75 13           jne 1130
		111d: 55              push %rbp
		111e: e8 00 00 00 00  call __cxa_finalize
		1123: e8 d8 ff ff ff  call 1100                <deregister_tm_clones>
		1128: 5d              pop %rbp
		1129: c3              ret
		112a: 0f 1f 44 00 00  nopl
		1130: c3              ret
		1140: 53              push %rbx                told of by nothing
		1141: 5b              pop %rbx
		1142: c3              ret
		1158: 55 53 50        push %rbp; push %rbx; push %rax
		115b: e8 a0 ff ff ff  call 1100                may not return
		1160: 53              push %rbx                may begin a function
		1161: 5b              pop %rbx
		1162: c3              ret`}
	tables := func(_ *image.Image, yield func(lo, hi uint64) bool) { _ = yield(0x0, 0x1100) && yield(0x1170, 0x9000) }
	e := New(disasm.Of(p.Image(t)), &Tables{Functions: tables})
	for pc, listed := range map[uint64]bool{
		0x10f0: true, 0x1100: false, 0x110f: false,
		0x1110: true, 0x1122: true, 0x1128: true, 0x1129: true,
		0x112a: false, 0x1130: false, 0x1140: false,
		0x1158: true, 0x115f: true, 0x1160: false, 0x1170: true,
	} {
		if e.Lists(pc) != listed {
			t.Errorf("%#x is listed: %t, want %t", pc, !listed, listed)
		}
	}
	if below := e.Below(at(0x1127)); len(below) == 0 || below[0] != 0x1110 {
		t.Errorf("the function of 0x1127 begins at %#x", below)
	}
}
