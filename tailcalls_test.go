package backsight_test

import (
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestTailCaller: which function left the stack between a frame and its caller.
func TestTailCaller(t *testing.T) {
	program := codetest.Program{CPU: "x86_64", Listing: `
	400000 <inner>:
	400008 <outer>:
	400010 <caller>:
	400030 <inner.cold>:
	400038 <first>:
		400000: 90              nop
		400001: c3              ret
		400008: eb f6           jmp  400000
		400010: 50              push %rax
		400011: e8 f2 ff ff ff  call 400008
		400016: e8 e5 ff ff ff  call 400000
		40001b: ff d0           call *%rax
		40001d: 58              pop  %rax
		40001e: c3              ret
		400030: 90              nop
		400031: c3              ret
		400038: e8 c3 ff ff ff  call 400000
		40003d: c3              ret`}
	img := program.Image(t)
	m := target.NewModule("program", img, 0x1000)
	const proven = unwind.CallBefore | unwind.TargetMatches
	for _, c := range []struct {
		what        string
		pc, returns uint64
		checks      unwind.Checks
		want        string
	}{
		{"the call goes to outer, which jumps to inner", 0x400000, 0x400016, proven, "outer"},
		{"to inner itself", 0x400000, 0x40001b, proven, ""},
		{"by a pointer", 0x400000, 0x40001d, proven, ""},
		{"nothing says that outer leads to inner", 0x400000, 0x400016, unwind.CallBefore, ""},
		{"to inner, of which inner.cold is a part", 0x400030, 0x40003d, proven, ""},
		{"to outer, and on by inner", 0x400030, 0x400016, proven, "outer"},
	} {
		frames := []unwind.Frame{
			{PC: m.ToTarget(c.pc), CallSite: m.ToTarget(c.pc), Module: m},
			{PC: m.ToTarget(c.returns), CallSite: m.ToTarget(c.returns - 1), Module: m, Checks: c.checks},
		}
		snap := &target.Snapshot{Arch: img.Arch, Modules: []*target.Module{m}}
		r := backsight.Report(t.Context(), snap, []backsight.Backtrace{{Thread: new(target.Thread), Frames: frames}}, backsight.Names(false))
		got := ""
		if d := r.Threads[0].Frames[0].Details; d != nil && d.TailCaller != nil {
			got = d.TailCaller.Function
		}
		if got != c.want {
			t.Errorf("%s: %q, not %q", c.what, got, c.want)
		}
	}
}
