package sigframe

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestListed: the restorer of glibc behind a function that returns, and one behind a call: each
// instruction has a rule, and the byte before belongs to the first one unless a call ends there.
func TestListed(t *testing.T) {
	img := codetest.Program{CPU: "x86_64", Listing: `
		401000: c3                       ret
		401001: 48 c7 c0 0f 00 00 00     mov $15,%rax
		401008: 0f 05                    syscall
		40100a: e8 f1 ff ff ff           call 401000
		40100f: b8 0f 00 00 00           mov $15,%eax
		401014: 0f 05                    syscall`}.Image(t)
	type row struct{ lo, hi uint64 }
	got := map[row]string{}
	Listed(img, func(lo, hi uint64, _ cpu.Mode, r *stackwalk.Rule) bool {
		if r.Flags&stackwalk.SignalFrame == 0 {
			t.Errorf("%#x is no signal frame", lo)
		}
		got[row{lo, hi}] = r.CFA.Format(img.Arch) + " " + r.RA.Format(img.Arch)
		return true
	})
	const want = "[rsp+160] [rsp+168]" // uc_mcontext.gregs[REG_RSP] and [REG_RIP] at 40 in the rt_sigframe
	for _, r := range []row{{0x401000, 0x401008}, {0x401008, 0x40100a}, {0x40100f, 0x401014}, {0x401014, 0x401016}} {
		if got[r] != want {
			t.Errorf("from %#x to %#x: %q", r.lo, r.hi, got[r])
		}
	}
	if len(got) != 4 {
		t.Errorf("%v", got)
	}
}
