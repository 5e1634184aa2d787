package dataflow

import (
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestRetpoline: what a retpoline calls is its rest, with the return address of the call on the stack until that is overwritten
// or dropped.
func TestRetpoline(t *testing.T) {
	for what, p := range map[string]codetest.Program{
		"a jump to rax": {CPU: "x86_64", Listing: `
		400000 <f>:
			400000: e8 07 00 00 00   call 40000c
			400005: f3 90            pause
			400007: 0f ae e8         lfence
			40000a: eb f9            jmp  400005
			40000c: 48 89 04 24      mov  %rax,(%rsp)
			400010: c3               ret`},
		"a return": {CPU: "x86_64", Listing: `
		400000 <f>:
			400000: e8 07 00 00 00   call 40000c
			400005: f3 90            pause
			400007: 0f ae e8         lfence
			40000a: eb f9            jmp  400005
			40000c: 48 8d 64 24 08   lea  8(%rsp),%rsp
			400011: c3               ret`},
	} {
		f := analysis(t, p).Function(at(0x400000))
		want := map[uint64]string{0x400000: "sp+0", 0x40000c: "sp-8", 0x400005: "not reached"}
		if what == "a return" {
			want[0x400011] = "sp+0"
		} else {
			want[0x400010] = "sp-8"
		}
		check(t, f, want)
		if balanced := what == "a return"; f.Balanced != balanced || f.Unbalanced || !f.Returns {
			t.Errorf("%s: balanced %v, unbalanced %v, returns %v", what, f.Balanced, f.Unbalanced, f.Returns)
		}
	}
}
