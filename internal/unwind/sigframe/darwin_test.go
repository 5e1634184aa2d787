package sigframe

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// darwinFrames are written by hand from xnu's structures. sigtramp calls the handler; behind
// the call, at ra, stands its call of __sigreturn.
var darwinFrames = []struct {
	cpu, listing string
	siginfo      int // with what lies between SP in _sigtramp and the ucontext
	// before and behind are what the ucontext has before uc_mcsize and behind uc_mcontext.
	before, exception int
}{
	{"x86_64", `
		400000: 55              push %rbp
		400001: 48 89 e5        mov %rsp,%rbp
		400004: ff d7           call *%rdi
		400006: 4c 89 f7        mov %r14,%rdi
		400009: be 1e 00 00 00  mov $30,%esi
		40000e: e8 0d 00 00 00  call 400020
		400020: b8 b8 00 00 02  mov $0x20000b8,%eax
		400025: 0f 05           syscall`, 16 + 8 + 104, 40, 16},
	{"aarch64", `
		400000: a9bf7bfd  stp x29,x30,[sp,#-16]!
		400004: d63f0100  blr x8
		400008: aa1403e0  mov x0,x20
		40000c: 528003c1  mov w1,#30
		400010: 94000004  bl  400020
		400020: d2801710  mov x16,#184
		400024: d4001001  svc #0x80`, 16 + 104, 40, 16},
	{"i386", `
		400000: 55              push %ebp
		400001: 89 e5           mov %esp,%ebp
		400003: ff d1           call *%ecx
		400005: 90              nop
		400006: 90              nop
		400007: 90              nop
		400008: e8 13 00 00 00  call 400020
		400020: b8 b8 00 00 00  mov $184,%eax
		400025: cd 80           int $0x80`, 8 + 28 + 64, 24, 12},
}

var darwinRA = map[string]uint64{"x86_64": 0x400006, "aarch64": 0x400008, "i386": 0x400005}

// darwinState is a frame in _sigtramp whose context holds want.
func darwinState(t *testing.T, i int, listing string, want *cpu.Registers) *stackwalk.State {
	f := &darwinFrames[i]
	img := codetest.Program{CPU: f.cpu, Listing: listing}.Image(t)
	img.System = system
	a := img.Arch
	layout := a.Layouts[cpu.DarwinThread]
	stack := synth.Stack(a).Zero(f.siginfo).Zero(f.before).Uint(uint64(f.exception+layout.Size+64), a.AddrSize).Ref("mcontext", 0).
		Label("mcontext").Zero(f.exception).Registers(layout, want).Zero(0x800).Place(stackAt)
	snap := synth.Capture(a, []*target.Module{target.NewModule("libsystem_platform.dylib", img, 0)}, stack)
	var regs cpu.Registers
	regs.Set(a.PC, darwinRA[f.cpu])
	regs.Set(a.SP, stackAt)
	return captured.State(snap, &regs, false)
}

// TestSigtramp: on each processor _sigtramp is known by the code behind its call or by its
// symbol, and the context by its shape.
func TestSigtramp(t *testing.T) {
	for i, f := range darwinFrames {
		for _, symbol := range []string{"", "\n400000 <_sigtramp>:\n"} {
			a := arch(t, f.cpu, "", false)
			var want cpu.Registers
			for _, s := range a.Layouts[cpu.DarwinThread].Slots {
				want.Set(s.Reg, 0x1000+uint64(s.Reg))
			}
			want.Set(a.PC, 0x400020)
			want.Set(a.SP, stackAt+0x700)
			s := darwinState(t, i, symbol+f.listing, &want)
			if !(Source{}).At(s, s.PC, 0) {
				t.Errorf("%s: _sigtramp is not recognised", f.cpu)
			}
			var got stackwalk.Caller
			if v := (Source{}).Step(s, &got); v != unwind.Found || got.Regs != want || got.CFA != stackAt+0x700 || !got.Exact {
				t.Errorf("%s: %v, CFA %#x, registers %x\nwant %x", f.cpu, v, got.CFA, got.Regs, want)
			}
		}
	}
}

// TestNoSigtramp: a function that calls another one, a context without plausible registers, and
// a stack that ends too early.
func TestNoSigtramp(t *testing.T) {
	f := darwinFrames[0]
	want := synth.Regs(arch(t, f.cpu, "", false), map[string]uint64{"rip": 0x400020, "rsp": stackAt + 0x700})
	other := darwinState(t, 0, "400006: e8 15 00 00 00  call 400020\n400020: c3  ret", want)
	if (Source{}).At(other, other.PC, 0) {
		t.Error("a call of another function is taken for __sigreturn")
	}
	wild := *want
	wild.Set(other.Snapshot.Arch.PC, 0x10)
	wild.Set(other.Snapshot.Arch.SP, 0x20)
	s := darwinState(t, 0, f.listing, &wild)
	var got stackwalk.Caller
	if v := (Source{}).Step(s, &got); v == unwind.Found {
		t.Errorf("registers %x are taken for those of interrupted code", got.Regs)
	}
	s.Regs.Set(s.Snapshot.Arch.SP, stackAt+0x100_0000)
	if v := (Source{}).Step(s, &got); v != unwind.NotCaptured {
		t.Errorf("without a stack: %v", v)
	}
}
