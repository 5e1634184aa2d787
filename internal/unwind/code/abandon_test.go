package code

import (
	"testing"

	"github.com/backsight/backsight/internal/code/codetest"
	"github.com/backsight/backsight/unwind"
)

// TestAbandonedRules: the rule of an unwinder that is about to go on in a frame further out says so;
// longjmp's does not, which saves nothing that could be overwritten.
func TestAbandonedRules(t *testing.T) {
	img := codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <_Unwind_Resume>:
	400100 <longjmp>:
		400000: 27bdffe0  addiu sp,sp,-32
		400004: afbf001c  sw    ra,28(sp)
		400008: afbe0018  sw    s8,24(sp)
		40000c: 0c140000  jal   500000      finds the frame
		400010: 00000000  nop
		400014: 0c140040  jal   500100      installs its registers
		400018: 00000000  nop
		40001c: 0c140080  jal   500200      tells a debugger
		400020: 00000000  nop
		400024: 8fbf001c  lw    ra,28(sp)
		400028: 8fbe0018  lw    s8,24(sp)
		40002c: 27bd0020  addiu sp,sp,32
		400030: 03e00008  jr    ra
		400034: 03a2e821  addu  sp,sp,v0
		400100: 8c9f0004  lw    ra,4(a0)
		400104: 8c9d0000  lw    sp,0(a0)
		400108: 03e00008  jr    ra
		40010c: 00000000  nop`}.Image(t)
	s := New(nil)
	for _, tt := range []struct {
		q    unwind.Query
		want bool
	}{
		{resuming(img, 0x400014, 0), false},
		{resuming(img, 0x40001c, 0), true},
		{resuming(img, 0x400024, 0), true},
		{exact(img, 0x400100, 0), false},
	} {
		var r unwind.Rule
		r.Reset()
		if v := s.Rule(&tt.q, &r); v != unwind.Found || r.Flags&unwind.Abandoned != 0 != tt.want {
			t.Errorf("at %x: %s, flags %b", tt.q.Resume, v, r.Flags)
		}
		tt.q.Entry, tt.q.HasEntry = tt.q.Resume&^0xff, true
		if got := s.Witnesses().Abandons(&tt.q); got != tt.want {
			t.Errorf("at %x: %t", tt.q.Resume, got)
		}
	}
}
