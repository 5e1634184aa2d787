package code

import (
	"testing"

	"github.com/backsight/backsight/internal/code/edges"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/unwind"
)

// TestAbandonedRules: the rule of an unwinder that is about to go on in a frame further out says so;
// longjmp's does not, which saves nothing that could be overwritten.
func TestAbandonedRules(t *testing.T) {
	img := codetest.Program{CPU: "aarch64", Listing: `
	400000 <_Unwind_Resume>:
	400100 <longjmp>:
		400000: a9be7bfd  stp x29,x30,[sp,#-32]!
		400004: 94000400  bl  401004             finds the frame
		400008: 94000400  bl  401008             installs its registers
		40000c: 94000400  bl  40100c             tells a debugger
		400010: a8c27bfd  ldp x29,x30,[sp],#32
		400014: 8b2463ff  add sp,sp,x4
		400018: d65f03c0  ret
		400100: f9400402  ldr x2,[x0,#8]
		400104: f940001e  ldr x30,[x0]
		400108: 9100005f  mov sp,x2
		40010c: d65f03c0  ret`}.Image(t)
	s := New(nil)
	for _, tt := range []struct {
		q    stackwalk.Query
		want bool
	}{
		{resuming(img, 0x400008, 0), false},
		{resuming(img, 0x40000c, 0), true},
		{resuming(img, 0x400010, 0), true},
		{exact(img, 0x400100, 0), false},
	} {
		var r stackwalk.Rule
		r.Reset()
		if v := s.Rule(&tt.q, &r); v != unwind.Found || r.Flags&stackwalk.Abandoned != 0 != tt.want {
			t.Errorf("at %x: %s, flags %b", tt.q.Resume, v, r.Flags)
		}
		tt.q.Entry, tt.q.HasEntry = tt.q.Resume&^0xff, true
		if got := edges.New(nil).Abandons(&tt.q); got != tt.want {
			t.Errorf("at %x: %t", tt.q.Resume, got)
		}
	}
}
