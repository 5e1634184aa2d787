package code

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/unwind"
)

// TestNeverReturns: data points to main, which ends in exit. No return undoes what main did to
// the stack; the pointer and main's code, followed to its end, stand for the entry.
func TestNeverReturns(t *testing.T) {
	img := codetest.Program{CPU: "x86_64", Data: map[uint64][]uint64{0x410000: {0x400010}}, Listing: `
	400000 <exit>:
		400000: f4              hlt
		400001: eb fd           jmp  400000
		400010: 53              push %rbx
		400011: 89 fb           mov  %edi,%ebx
		400013: 85 db           test %ebx,%ebx
		400015: 74 05           je   40001c
		400017: e8 e4 ff ff ff  call 400000
		40001c: e8 df ff ff ff  call 400000`}.Image(t)
	q, rule := exact(img, 0x400013, 0), new(stackwalk.Rule)
	if v := New(nil).Rule(&q, rule); v != unwind.Found {
		t.Fatal(v)
	}
	if got := rule.Format(img.Arch); got != "CFA=rsp+16 RA=[CFA-8] rbx=[CFA-16]" || rule.Flags&(stackwalk.FromEntry|stackwalk.NoReturn) != stackwalk.FromEntry|stackwalk.NoReturn {
		t.Errorf("%s, flags %b", got, rule.Flags)
	}
}
