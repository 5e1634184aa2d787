package scan

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm64"
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
	farAt   = 0x0050_0000 // a second module, far from the first
	stackAt = 0x7fff_0000
)

// arm64Code has its calls to 0x400100, 0x400200 and through a register, which
// return to 4, 8 and c.
var arm64Code = append([]byte("\x40\x00\x00\x94"+ // 0: bl 100
	"\x7f\x00\x00\x94"+ // 4: bl 200
	"\x00\x00\x3f\xd6"+ // 8: blr x0
	"\x1f\x20\x03\xd5"), // c: nop
	make([]byte, 0x400)...)

// reach is a CallGraph that knows functions of 256 bytes.
type reach struct{ stackwalk.CallGraph }

func (reach) Reaches(_ *target.Snapshot, entry uint64, _ cpu.Mode, pc uint64) (stackwalk.Answer, bool, uint64) {
	if entry&^0xff == pc&^0xff {
		return stackwalk.Yes, true, 0
	}
	return stackwalk.No, true, 0
}

func (reach) Stub(*target.Snapshot, uint64, cpu.Mode, uint64) (uint64, bool) { return 0, false }

func (reach) OneFunction(*target.Module, uint64, uint64, cpu.Mode) stackwalk.Answer {
	return stackwalk.Unknown
}

func (reach) StartsFunction(*target.Module, uint64, cpu.Mode, cpu.CallSite) bool { return false }

func (reach) EndsThread(*target.Module, uint64, cpu.Mode) bool    { return false }
func (reach) BehindSyscall(*target.Module, uint64, cpu.Mode) bool { return false }

func (reach) LeavesException(*target.Module, uint64, cpu.Mode) stackwalk.Answer {
	return stackwalk.Unknown
}

func (reach) Callee(*target.Snapshot, uint64, cpu.Mode) (uint64, cpu.Mode, bool) {
	return 0, 0, false
}

func capture(a *cpu.Arch, stack synth.Placed) *target.Snapshot {
	return synth.Capture(a, []*target.Module{synth.Module(a, codeAt, arm64Code), synth.Module(a, farAt, arm64Code)}, stack)
}

func TestNearestReturnAddress(t *testing.T) {
	a := arm64.Archs()[0]
	for _, c := range []struct {
		name  string
		flow  stackwalk.CallGraph
		pc    uint64
		words []uint64
		slot  int // of the return address, -1: none
	}{
		{"data, code without a call before it, a call", nil, codeAt + 0x110, []uint64{1, codeAt, codeAt + 0x80, codeAt + 4, codeAt + 8}, 3},
		{"the call goes to the callee", reach{}, codeAt + 0x210, []uint64{codeAt + 4, 0, codeAt + 8}, 2},
		{"a proven call beats a nearer indirect one", reach{}, codeAt + 0x210, []uint64{codeAt + 0xc, 0, codeAt + 8}, 2},
		{"an indirect call where none is proven", reach{}, codeAt + 0x310, []uint64{codeAt + 4, 0, codeAt + 0xc, codeAt + 8}, 2},
		{"only calls that go elsewhere", reach{}, codeAt + 0x310, []uint64{codeAt + 4, codeAt + 8}, -1},
		{"nothing", nil, codeAt + 0x110, []uint64{0, 1, stackAt, codeAt + 2}, -1},
		{"behind the end of the code", nil, codeAt + 0x110, []uint64{codeAt + 0x2000}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := captured.State(capture(a, synth.Stack(a).Words(c.words...).Place(stackAt)),
				synth.Regs(a, map[string]uint64{"pc": c.pc, "sp": stackAt}), false)
			var got stackwalk.Caller
			v := New(c.flow).Step(s, &got)
			if c.slot < 0 {
				if v != unwind.NotCovered {
					t.Error(v, got.Regs.Val[a.PC])
				}
				return
			}
			if v != unwind.Found {
				t.Fatal(v)
			}
			pc, sp := got.Regs.Val[a.PC], got.Regs.Val[a.SP]
			if pc != c.words[c.slot] || sp != stackAt+8*uint64(c.slot)+8 {
				t.Errorf("pc %#x sp %#x", pc, sp)
			}
			if got.HasCFA || got.Exact {
				t.Error("a scan knows no CFA where calls leave RA in a register")
			}
		})
	}
}

// A call pushes the return address on x86: the CFA is right behind it. The record
// of a frame pointer chain gives the caller's frame pointer.
func TestPushedReturnAddress(t *testing.T) {
	a := x86.Archs()[0]
	code := []byte("\xff\xd0\x90") // 0: call *%rax; 2: nop
	stack := synth.Stack(a).Word(codeAt).Ref("outer", 0).Word(codeAt+2).Label("cfa").Words(0, 0).
		Label("outer").Words(0, 0).Place(stackAt)
	snap := synth.Capture(a, []*target.Module{synth.Module(a, codeAt, code)}, stack)
	s := captured.State(snap, synth.Regs(a, map[string]uint64{"rip": codeAt + 1, "rsp": stackAt, "rbx": 3}), true)
	var got stackwalk.Caller
	if v := New(nil).Step(s, &got); v != unwind.Found {
		t.Fatal(v)
	}
	if !got.HasCFA || got.CFA != stack.Addr("cfa") || got.Regs.Val[a.SP] != got.CFA {
		t.Errorf("CFA %#x", got.CFA)
	}
	if fp, ok := got.Regs.Lookup(a.FP); !ok || fp != stack.Addr("outer") {
		t.Errorf("rbp %#x, %v", fp, ok)
	}
	if got.Regs.Known != cpu.SetOf(a.PC, a.SP, a.FP) {
		t.Errorf("known %x", got.Regs.Known)
	}
}

// Without a record the frame pointer stays unknown.
func TestNoFrameRecord(t *testing.T) {
	a := riscv.Archs()[0]
	code := []byte("\x82\x97\x01\x00") // 0: c.jalr a5; 2: c.nop
	for _, fp := range []uint64{0, stackAt, stackAt + 9, stackAt + 0x8000} {
		snap := synth.Capture(a, []*target.Module{synth.Module(a, codeAt, code)}, synth.Stack(a).Words(fp, codeAt+2, 0, 0).Place(stackAt))
		s := captured.State(snap, synth.Regs(a, map[string]uint64{"pc": codeAt, "sp": stackAt}), false)
		var got stackwalk.Caller
		if v := New(nil).Step(s, &got); v != unwind.Found || got.Regs.Known.Has(a.FP) {
			t.Errorf("%#x: %v, frame pointer known: %v", fp, v, got.Regs.Known.Has(a.FP))
		}
	}
}

func TestLinkRegister(t *testing.T) {
	a := arm64.Archs()[0]
	for _, c := range []struct {
		name   string
		flow   stackwalk.CallGraph
		pc, lr uint64
		exact  bool
		words  []uint64
		want   uint64
		sp     uint64
	}{
		{"leaf, proven", reach{}, codeAt + 0x210, codeAt + 8, true, []uint64{farAt + 0xc}, codeAt + 8, stackAt},
		{"leaf, far away", nil, codeAt + 0x210, farAt + 8, true, []uint64{codeAt + 4}, farAt + 8, stackAt},
		{"saved by the prologue", nil, codeAt + 0x210, farAt + 8, true, []uint64{1, farAt + 8}, farAt + 8, stackAt + 16},
		{"within the function", nil, codeAt + 0x10, codeAt + 4, true, []uint64{1, farAt + 4}, farAt + 4, stackAt + 16},
		{"the call went elsewhere", reach{}, codeAt + 0x310, farAt + 8, true, []uint64{farAt + 0xc}, farAt + 0xc, stackAt + 8},
		{"no call before it", nil, codeAt + 0x210, farAt, true, []uint64{farAt + 4}, farAt + 4, stackAt + 8},
		{"not the topmost frame", nil, codeAt + 0x210, farAt + 8, false, []uint64{farAt + 4}, farAt + 4, stackAt + 8},
	} {
		s := captured.State(capture(a, synth.Stack(a).Words(c.words...).Place(stackAt)),
			synth.Regs(a, map[string]uint64{"pc": c.pc, "sp": stackAt, "lr": c.lr}), c.exact)
		var got stackwalk.Caller
		if v := New(c.flow).Step(s, &got); v != unwind.Found || got.Regs.Val[a.PC] != c.want || got.Regs.Val[a.SP] != c.sp {
			t.Errorf("%s: %v, pc %#x sp %#x, want %#x %#x", c.name, v, got.Regs.Val[a.PC], got.Regs.Val[a.SP], c.want, c.sp)
		}
	}
}

// handlerReturn is a trampoline at one address.
type handlerReturn uint64

func (h handlerReturn) At(_ *stackwalk.State, pc uint64, _ cpu.Mode) bool { return pc == uint64(h) }

// A handler's return address is that of a trampoline, which no call stands before.
func TestTrampoline(t *testing.T) {
	a := arm64.Archs()[0]
	s := captured.State(capture(a, synth.Stack(a).Words(1, farAt, codeAt+4).Place(stackAt)),
		synth.Regs(a, map[string]uint64{"pc": codeAt, "sp": stackAt}), false)
	var got stackwalk.Caller
	if v := New(nil, handlerReturn(farAt)).Step(s, &got); v != unwind.Found || got.Regs.Val[a.PC] != farAt {
		t.Errorf("%v, pc %#x", v, got.Regs.Val[a.PC])
	}
}

// A signed return address has a pointer authentication code above the mask.
func TestSignedReturnAddress(t *testing.T) {
	a := arm64.Archs()[0]
	snap := capture(a, synth.Stack(a).Words(1, 0x2a<<48|(codeAt+4)).Place(stackAt))
	snap.CodeMask = 1<<48 - 1
	s := captured.State(snap, synth.Regs(a, map[string]uint64{"pc": codeAt, "sp": stackAt}), false)
	var got stackwalk.Caller
	if v := New(nil).Step(s, &got); v != unwind.Found || got.Regs.Val[a.PC] != codeAt+4 {
		t.Errorf("%v, pc %#x", v, got.Regs.Val[a.PC])
	}
}

func TestSearchIsBounded(t *testing.T) {
	a := arm64.Archs()[0]
	for _, c := range []struct {
		words int
		want  unwind.Verdict
	}{{maxWords - 1, unwind.Found}, {maxWords, unwind.NotCovered}} {
		s := captured.State(capture(a, synth.Stack(a).Zero(8*c.words).Word(codeAt+4).Place(stackAt)),
			synth.Regs(a, map[string]uint64{"pc": codeAt, "sp": stackAt}), false)
		if v := New(nil).Step(s, new(stackwalk.Caller)); v != c.want {
			t.Errorf("%d words: %v", c.words, v)
		}
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	a := arm64.Archs()[0]
	s := captured.State(capture(a, synth.Stack(a).Words(1, 2, codeAt+4).Place(stackAt)),
		synth.Regs(a, map[string]uint64{"pc": codeAt + 0x110, "sp": stackAt}), false)
	var source stackwalk.FrameSource = New(reach{})
	out := new(stackwalk.Caller)
	if n := testing.AllocsPerRun(100, func() { source.Step(s, out) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzStep(f *testing.F) {
	f.Add(uint8(0), []byte("\x82\x97\x01\x00"), []byte("\x02\x00\x40\x00\x00\x00\x00\x00"), uint64(stackAt), uint64(0), true)
	f.Add(uint8(1), arm64Code[:16], []byte("\x04\x00\x40\x00\x00\x00\x00\x00"), ^uint64(0), uint64(codeAt), false)
	archs := append(append(riscv.Archs(), arm64.Archs()...), x86.Archs()...)
	f.Fuzz(func(t *testing.T, n uint8, code, stack []byte, sp, lr uint64, exact bool) {
		if len(code) == 0 {
			return
		}
		a := archs[int(n)%len(archs)]
		snap := synth.Capture(a, []*target.Module{synth.Module(a, codeAt, code)}, synth.Placed{Base: stackAt, Data: stack})
		var regs cpu.Registers
		regs.Set(a.PC, codeAt)
		regs.Set(a.SP, sp)
		regs.Set(a.LR, lr)
		var out stackwalk.Caller
		if New(nil).Step(captured.State(snap, &regs, exact), &out) == unwind.Found && out.Regs.Val[a.SP] < sp&a.AddrMask() {
			t.Error("the stack pointer falls")
		}
	})
}

// TestVector: at the first instruction of an exception vector the link register leads to a function that has not returned,
// wherever the call before goes, and the other registers are what they were there.
func TestVector(t *testing.T) {
	a := arm64.Archs()[0]
	s := captured.State(capture(a, synth.Stack(a).Zero(64).Place(stackAt)),
		synth.Regs(a, map[string]uint64{"pc": farAt + 0x310, "sp": stackAt, "x30": codeAt + 8, "x29": stackAt + 32, "x19": 7}), true)
	var got stackwalk.Caller
	if v := New(reach{}).Step(s, &got); v != unwind.NotCovered {
		t.Errorf("a function that this call does not go to: %v, %#x", v, got.Regs.Val[a.PC])
	}
	s.Thread.AtVector = true
	x19, _ := a.RegByName("x19")
	if v := New(reach{}).Step(s, &got); v != unwind.Found || got.Regs.Val[a.PC] != codeAt+8 || got.Regs.Val[a.SP] != stackAt ||
		got.Regs.Val[a.FP] != stackAt+32 || got.Regs.Val[x19] != 7 || got.Regs.Known.Has(a.LR) {
		t.Errorf("a vector: %v, %+v", v, got.Regs)
	}
	if s.Index = 1; New(reach{}).Step(s, &got) != unwind.NotCovered {
		t.Error("a frame further out is at no vector")
	}
}
