package discover

import (
	"slices"
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
	listed := false
	e := New(disasm.Of(p.Image(t)), &Tables{
		Functions: func(_ *image.Image, yield func(lo, hi uint64) bool) {
			listed = true
			_ = yield(0x0, 0x1100) && yield(0x1170, 0x9000)
		},
		FunctionAt: func(*image.Image) Search {
			return func(pc uint64) (lo, hi uint64, ok bool) {
				if pc < 0x1100 {
					return 0, 0x1100, true
				}
				return 0x1100, 0x1170, false
			}
		},
	})
	for pc, want := range map[uint64]uint64{0x1110: 0x1158, 0x1122: 0x1158, 0x1129: 0x1158, 0x1158: 0x1163, 0x115f: 0x1163} {
		if got := e.Next(pc, pc); !e.Declares(pc) || got != want || listed {
			t.Errorf("%#x is declared: %t; its function ends at %#x, want %#x; all functions were listed: %t", pc, e.Declares(pc), got, want, listed)
		}
	}
	if below := e.Below(at(0x1127)); !slices.Equal(below, []uint64{0x1110}) || listed {
		t.Errorf("the function of 0x1127 begins at %#x", below)
	}
	for _, pc := range []uint64{0x1100, 0x110f, 0x112a, 0x1130, 0x1140, 0x1160} {
		if e.Declares(pc) {
			t.Errorf("%#x is declared", pc)
		}
	}
}
