package code

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/code/codetest"
)

// TestReloadedRA: of several slots that hold the return address, the function goes back by
// the one that it reloads, though the call before never returns: libgcc's _Unwind_Resume for
// ARM, whose callee changes the registers that it is given. The other slot is the second answer.
func TestReloadedRA(t *testing.T) {
	img := codetest.Program{CPU: "arm", Listing: `
		1000 <f>:
		1000: e1a0c00d  mov  ip,sp
		1004: e52de004  push {lr}              pc
		1008: e92d5000  push {ip, lr}          sp, lr
		100c: e92d1fff  push {r0-r12}
		1010: e1a0000d  mov  r0,sp
		1014: eb000002  bl   1024
		1018: e59de038  ldr  lr,[sp,#56]
		101c: e28dd040  add  sp,sp,#64
		1020: e12fff1e  bx   lr
		1024 <never returns>:
		1024: eafffffe  b    1024`}.Image(t)
	q := resuming(img, 0x1018, 0)
	got := answers(New(nil), q)
	for i, want := range []string{"CFA=sp+64 RA=[CFA-8]", "CFA=sp+64 RA=[CFA-4]"} {
		if len(got) <= i || !strings.HasPrefix(got[i], want) {
			t.Errorf("answer %d of %q, want %s", i, got, want)
		}
	}
}
