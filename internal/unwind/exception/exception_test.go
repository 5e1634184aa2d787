package exception

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// cortexM is the microcontroller profile.
func cortexM(t testing.TB) *cpu.Arch {
	t.Helper()
	for _, a := range arm.Archs() {
		if a.ABI == "cortexm" {
			return a
		}
	}
	t.Fatal("no Cortex-M")
	return nil
}

const (
	handlerStack = 0x2000_8000
	threadStack  = 0x2000_4000
	thumb        = 1 << 24
)

// frame is a basic exception frame: r0–r3 are 1 to 4, r12 is 12, lr 0x1235.
func frame(s *synth.Assembler, pc, status uint64) *synth.Assembler {
	return s.Words(1, 2, 3, 4, 12, 0x1235, pc, status)
}

// TestStep: the interrupted registers, for each value of EXC_RETURN.
func TestStep(t *testing.T) {
	a := cortexM(t)
	for _, c := range []struct {
		name   string
		ret    uint64
		before func(*synth.Assembler)
		status uint64
		sp     uint64 // of the interrupted code, from the start of its stack
		thread bool   // the frame lies on the thread's stack
		want   unwind.Verdict
	}{
		{"handler, basic", 0xfffffff1, nil, thumb, 32, false, unwind.Found},
		{"thread on main stack", 0xfffffff9, nil, thumb, 32, false, unwind.Found},
		{"without bit 0", 0xfffffff8, nil, thumb, 32, false, unwind.Found},
		{"realigned", 0xfffffff9, nil, thumb | 1<<9, 36, false, unwind.Found},
		{"floating point", 0xffffffe9, nil, thumb, 104, false, unwind.Found},
		{"floating point, realigned", 0xffffffe1, nil, thumb | 1<<9, 108, false, unwind.Found},
		{"process stack", 0xfffffffd, nil, thumb, 32, true, unwind.Found},
		{"Armv8-M, non-secure process stack", 0xffffffbc, nil, thumb, 32, true, unwind.Found},
		{"Armv8-M, secure code interrupted", 0xfffffff8, func(s *synth.Assembler) {
			s.Words(0xfefa125b, 0, 104, 105, 106, 107, 108, 109, 110, 111)
		}, thumb, 72, false, unwind.Found},
		{"fault by leaving Thumb state, PC in code", 0xfffffff9, nil, 0, 32, false, unwind.Found},
		{"−1", 0xffffffff, nil, thumb, 0, false, unwind.NotCovered},
		{"lockup", 0xfffffffe, nil, thumb, 0, false, unwind.NotCovered},
		{"ordinary code", 0x08000101, nil, thumb, 0, false, unwind.NotCovered},
	} {
		t.Run(c.name, func(t *testing.T) {
			asm := synth.Stack(a)
			if c.before != nil {
				c.before(asm)
			}
			base := uint64(handlerStack)
			if c.thread {
				base = threadStack
			}
			stack := frame(asm, 0x0800_0200, c.status).Zero(100).Place(base)
			snap := synth.Capture(a, modules(synth.Module(a, 0x0800_0000, make([]byte, 0x400))), stack)
			regs := synth.Regs(a, map[string]uint64{"pc": c.ret, "sp": handlerStack, "r4": 104, "r11": 111, "r0": 99, "psp": threadStack})
			s := captured.State(snap, regs, false)
			s.PC = c.ret
			if at := (Source{}).At(s, c.ret, 1); at != (c.want == unwind.Found) {
				t.Error("trampoline:", at)
			}
			var got stackwalk.Caller
			if v := (Source{}).Step(s, &got); v != c.want || v != unwind.Found {
				if v != c.want {
					t.Error(v)
				}
				return
			}
			for name, want := range map[string]uint64{"r0": 1, "r3": 4, "r12": 12, "lr": 0x1235, "pc": 0x0800_0200,
				"r4": 104, "r11": 111, "sp": base + c.sp, "xpsr": c.status} {
				r, _ := a.RegByName(name)
				if v, ok := got.Regs.Lookup(r); !ok || v != want {
					t.Errorf("%s = %#x, want %#x", name, v, want)
				}
			}
			if !got.Exact || !got.NotAFrame || !got.HasCFA || got.CFA != base {
				t.Errorf("exact %v, not a frame %v, CFA %#x", got.Exact, got.NotAFrame, got.CFA)
			}
		})
	}
}

// A tick that interrupts a supervisor call, which a task has made: threads of an
// RTOS run on the process stack, handlers on the main stack. The second step no
// longer has the psp among its registers, which are those of the first step's
// result: it comes from the capture.
func TestTask(t *testing.T) {
	a := cortexM(t)
	main := synth.Stack(a).
		Label("tick").Words(0xaa, 0xfffffff1).
		Label("supervisor interrupted").Words(1, 2, 3, 4, 12, 0xfffffffd, 0x0800_0300, thumb).
		Label("supervisor").Words(0xbb, 0xfffffffd).
		Label("main stack's rest").Zero(16).Place(handlerStack)
	process := synth.Stack(a).Zero(24).
		Label("task interrupted").Words(21, 22, 23, 24, 32, 0x0800_0111, 0x0800_0200, thumb).
		Label("task").Words(0xcc, 0x0800_0111).Place(threadStack)
	snap := synth.Capture(a, modules(synth.Module(a, 0x0800_0000, make([]byte, 0x400))), main, process)
	regs := synth.Regs(a, map[string]uint64{"sp": main.Addr("supervisor interrupted"), "r4": 4,
		"msp": main.Addr("tick"), "psp": process.Addr("task interrupted")})

	s := captured.State(snap, regs, false)
	for _, c := range []struct {
		ret, pc, sp, cfa, r0 uint64
		handler              uint64 // the stack pointer where the interrupted handler returns in its turn
	}{
		{0xfffffff1, 0x0800_0300, main.Addr("supervisor"), main.Addr("supervisor interrupted"), 1, main.Addr("main stack's rest")},
		{0xfffffffd, 0x0800_0200, process.Addr("task"), process.Addr("task interrupted"), 21, 0},
	} {
		s.PC = c.ret
		var got stackwalk.Caller
		if v := (Source{}).Step(s, &got); v != unwind.Found {
			t.Fatalf("%#x: %v", c.ret, v)
		}
		r := &got.Regs
		if r.Val[a.PC] != c.pc || r.Val[a.SP] != c.sp || r.Val[arm.R0] != c.r0 || r.Val[arm.R4] != 4 || got.CFA != c.cfa {
			t.Errorf("%#x: pc %#x sp %#x r0 %d r4 %d CFA %#x", c.ret, r.Val[a.PC], r.Val[a.SP], r.Val[arm.R0], r.Val[arm.R4], got.CFA)
		}
		r.Set(a.SP, c.handler)
		s.Regs = r
	}
}

// TestThread: no exception enters Thread mode, so that an EXC_RETURN which is found on a thread's
// stack is left over. Example: a search through the stack of a task behind its outermost frame
// found one that an earlier interrupt had left there, which led back to the first frame.
func TestThread(t *testing.T) {
	a := cortexM(t)
	stack := frame(synth.Stack(a), 0x0800_0200, thumb).Zero(16).Place(threadStack)
	snap := synth.Capture(a, modules(synth.Module(a, 0x0800_0000, make([]byte, 0x400))), stack)
	for _, c := range []struct {
		name   string
		status uint64 // of the capture
		base   bool
		want   unwind.Verdict
	}{
		{"a handler", thumb | 21, false, unwind.Found},
		{"the capture is of a thread", thumb, false, unwind.NotCovered},
		{"the walk has come to a thread", thumb | 21, true, unwind.NotCovered},
	} {
		regs := synth.Regs(a, map[string]uint64{"pc": 0xfffffffd, "sp": handlerStack, "psp": threadStack, "xpsr": c.status})
		s := captured.State(snap, regs, false)
		s.PC, s.Base, s.Thread = 0xfffffffd, c.base, &target.Thread{Regs: *regs}
		var got stackwalk.Caller
		if v := (Source{}).Step(s, &got); v != c.want || (Source{}).At(s, s.PC, 1) != (v == unwind.Found) || v == unwind.Found && !got.Base {
			t.Errorf("%s: %v, base %v", c.name, v, got.Base)
		}
	}
}

// TestStepDeclines: no frame is made of memory that was not captured or holds no exception frame.
func TestStepDeclines(t *testing.T) {
	a := cortexM(t)
	snap := synth.Capture(a, nil, frame(synth.Stack(a), 0x1234, 0).Place(handlerStack))
	for _, c := range []struct {
		name string
		regs map[string]uint64
		want unwind.Verdict
	}{
		{"process stack pointer unknown", map[string]uint64{"pc": 0xfffffffd, "sp": handlerStack}, unwind.NotCovered},
		{"no stack captured", map[string]uint64{"pc": 0xfffffff9, "sp": 0x1000}, unwind.Malformed},
		{"stack ends within the frame", map[string]uint64{"pc": 0xfffffff9, "sp": handlerStack + 8}, unwind.Malformed},
		{"neither Thumb state nor code", map[string]uint64{"pc": 0xfffffff9, "sp": handlerStack}, unwind.Malformed},
	} {
		s := captured.State(snap, synth.Regs(a, c.regs), false)
		s.PC = c.regs["pc"]
		if v := (Source{}).Step(s, new(stackwalk.Caller)); v != c.want {
			t.Errorf("%s: %v, want %v", c.name, v, c.want)
		}
	}
}

// Only processors with hardware exception frames have EXC_RETURN: elsewhere
// 0xfffffff9 is −7.
func TestOtherProcessors(t *testing.T) {
	a := arm.Archs()[0]
	s := captured.State(synth.Capture(a, nil), synth.Regs(a, map[string]uint64{"pc": 0xfffffff9, "sp": handlerStack}), false)
	if (Source{}).At(s, 0xfffffff9, 0) || (Source{}).Step(s, new(stackwalk.Caller)) != unwind.NotCovered {
		t.Error("EXC_RETURN on a processor without")
	}
}

func FuzzStep(f *testing.F) {
	a := cortexM(f)
	f.Add(uint32(0xfffffff9), uint32(handlerStack), make([]byte, 120))
	f.Add(uint32(0xffffffed), uint32(0xffff_fff8), []byte{1})
	f.Fuzz(func(t *testing.T, ret, sp uint32, data []byte) {
		snap := synth.Capture(a, nil, synth.Placed{Base: handlerStack, Data: data})
		s := captured.State(snap, synth.Regs(a, map[string]uint64{"pc": uint64(ret), "sp": uint64(sp), "psp": uint64(sp)}), false)
		s.PC = uint64(ret)
		var out stackwalk.Caller
		if (Source{}).Step(s, &out) == unwind.Found && out.Regs.Val[a.SP] == uint64(sp) {
			t.Error("no progress")
		}
	})
}
