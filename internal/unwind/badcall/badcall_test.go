package badcall

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

const (
	codeAt  = 0x0040_0000
	stackAt = 0x7fff_0000
)

var (
	arm64Code = []byte("\x00\x00\x3f\xd6" + // 0: blr x0
		"\x1f\x20\x03\xd5" + // 4: nop
		"\x02\x00\x00\x94" + // 8: bl 10
		"\x1f\x20\x03\xd5") // c: nop
	riscvCode = []byte("\x82\x97" + // 0: c.jalr a5
		"\x01\x00") // 2: c.nop
	mipsCode = []byte("\x03\x20\xf8\x09" + // 0: jalr t9
		"\x00\x00\x00\x00" + // 4: nop
		"\x00\x00\x00\x00") // 8: nop
	thumbCode = []byte("\x98\x47" + // 0: blx r3
		"\x00\xbf" + // 2: nop
		"\x00\xf0\x00\xf8" + // 4: bl 8
		"\x00\xbf") // 8: nop
	x86Code = []byte("\xff\xd0" + // 0: call *%rax
		"\x90" + // 2: nop
		"\xe8\x00\x01\x00\x00" + // 3: call 108
		"\x90") // 8: nop
)

// each CPU's way to a call through a bad pointer
var calls = []struct {
	name string
	arch *cpu.Arch
	code []byte
	ra   uint64 // as in the register or on the stack
	pc   uint64
}{
	{"aarch64, NULL", arm64.Archs()[0], arm64Code, codeAt + 4, 0},
	{"aarch64, data", arm64.Archs()[0], arm64Code, codeAt + 4, stackAt},
	{"aarch64, tail jump of a function called directly", arm64.Archs()[0], arm64Code, codeAt + 12, 8},
	{"riscv64", riscv.Archs()[0], riscvCode, codeAt + 2, 0},
	{"mips", mips.Archs()[0], mipsCode, codeAt + 8, 0xdeadbeec},
	{"Thumb", arm.Archs()[0], thumbCode, codeAt + 3, 0},
	{"x86_64", x86.Archs()[0], x86Code, codeAt + 2, 0},
	{"i386, tail jump", x86.Archs()[1], x86Code, codeAt + 8, 0x10},
}

func state(a *cpu.Arch, code []byte, pc, ra uint64) *stackwalk.State {
	stack := synth.Stack(a).Word(0x55).Word(ra).Words(0, 0).Place(stackAt - uint64(a.RegSize))
	snap := synth.Capture(a, []*target.Module{synth.Module(a, codeAt, code)}, stack)
	var regs cpu.Registers
	for r := range a.Regs {
		regs.Set(cpu.Reg(r), uint64(r)+1)
	}
	if a.Status != cpu.NoReg {
		regs.Set(a.Status, 0)
	}
	regs.Set(a.PC, pc)
	regs.Set(a.SP, stackAt)
	regs.Set(a.LR, ra)
	return captured.State(snap, &regs, true)
}

func TestStepUndoesTheCall(t *testing.T) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			a := c.arch
			s := state(a, c.code, c.pc, c.ra)
			var got stackwalk.Caller
			if v := (Source{}).Step(s, &got); v != unwind.Found {
				t.Fatal(v)
			}
			want := *s.Regs
			want.Set(a.PC, c.ra)
			want.Set(a.SP, stackAt+uint64(a.EntryCFA))
			for r := range a.Regs {
				r := cpu.Reg(r)
				v, ok := got.Regs.Lookup(r)
				if r == a.LR || r == a.Status {
					if ok {
						t.Errorf("%s is known to be %#x", a.RegName(r), v)
					}
				} else if !ok || v != want.Val[r] {
					t.Errorf("%s = %#x, %v, want %#x", a.RegName(r), v, ok, want.Val[r])
				}
			}
			if got.Exact || !got.HasCFA || !got.Sized || got.CFA != want.Val[a.SP] {
				t.Errorf("exact %v, sized %v, CFA %#x", got.Exact, got.Sized, got.CFA)
			}
		})
	}
}

// TestStepDeclines: a call is undone only in the innermost frame, where the PC is bad and the return address follows a call.
func TestStepDeclines(t *testing.T) {
	a := arm64.Archs()[0]
	for _, c := range []struct {
		name   string
		pc, ra uint64
		change func(*stackwalk.State)
	}{
		{"the PC is in code", codeAt, codeAt + 4, nil},
		{"no call before the return address", 0, codeAt + 8, nil},
		{"the return address is bad too", 0, 0x1234, nil},
		{"not the topmost frame", 0, codeAt + 4, func(s *stackwalk.State) { s.Exact = false }},
		{"LR unknown", 0, codeAt + 4, func(s *stackwalk.State) { s.Regs.Forget(a.LR) }},
		{"SP unknown", 0, codeAt + 4, func(s *stackwalk.State) { s.Regs.Forget(a.SP) }},
		{"the function that was called has saved the return address", stackAt + 0x40, codeAt + 12, func(s *stackwalk.State) {
			s.Regs.Set(a.FP, stackAt+16)
			s.Snapshot = synth.Capture(a, s.Snapshot.Modules, synth.Stack(a).Words(0, 0, stackAt+64, codeAt+12).Place(stackAt))
		}},
		{"image not found", codeAt, codeAt + 4, func(s *stackwalk.State) { s.Snapshot.Modules[0].Image = nil }},
	} {
		s := state(a, arm64Code, c.pc, c.ra)
		if c.change != nil {
			c.change(s)
		}
		if v := (Source{}).Step(s, new(stackwalk.Caller)); v != unwind.NotCovered {
			t.Errorf("%s: %v", c.name, v)
		}
	}
}

// `pop {r4, pc}` with a smashed stack: LR is what the last call of the function
// left, and the bad address stands below SP.
func TestReturnToBadAddress(t *testing.T) {
	a := arm.Archs()[0]
	if v := (Source{}).Step(state(a, thumbCode, 0x54, codeAt+9), new(stackwalk.Caller)); v != unwind.NotCovered {
		t.Error(v)
	}
}

// A function that is called directly may jump to a pointer that is NULL, which most words below SP are, too. Where functions return
// by a register, or a return address lies at SP, that is no return to NULL; where ARM's pop does, nobody knows.
func TestTailJumpToNull(t *testing.T) {
	for _, c := range []struct {
		arch *cpu.Arch
		code []byte
		ra   uint64
		want unwind.Verdict
	}{
		{x86.Archs()[0], x86Code, codeAt + 8, unwind.Found},
		{arm64.Archs()[0], arm64Code, codeAt + 12, unwind.Found},
		{arm.Archs()[0], thumbCode, codeAt + 9, unwind.NotCovered},
	} {
		s := state(c.arch, c.code, 0, c.ra)
		stack := synth.Stack(c.arch).Word(0).Word(c.ra).Words(0, 0).Place(stackAt - uint64(c.arch.RegSize))
		s.Snapshot = synth.Capture(c.arch, s.Snapshot.Modules, stack)
		if v := (Source{}).Step(s, new(stackwalk.Caller)); v != c.want {
			t.Errorf("%s: %v, want %v", c.arch.Name, v, c.want)
		}
	}
}

func FuzzStep(f *testing.F) {
	for i, c := range calls {
		f.Add(uint8(i), c.code, c.pc, c.ra)
	}
	f.Fuzz(func(t *testing.T, n uint8, code []byte, pc, ra uint64) {
		if len(code) == 0 {
			return
		}
		a := calls[int(n)%len(calls)].arch
		var got stackwalk.Caller
		if (Source{}).Step(state(a, code, pc, ra), &got) == unwind.Found && got.Exact {
			t.Error("a return address is not exact")
		}
	})
}
