package absint

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// code is a program of a few instructions at 1000.
func code(t testing.TB, cpu, listing string) disasm.Code {
	return disasm.Of(codetest.Program{CPU: cpu, Listing: listing}.Image(t))
}

func reg(t testing.TB, c disasm.Code, name string) cpu.Reg {
	t.Helper()
	r, ok := c.Arch.RegByName(name)
	if !ok {
		t.Fatal("no register ", name)
	}
	return r
}

// TestJoin: what holds on both of two paths.
func TestJoin(t *testing.T) {
	c := code(t, "mips o32 big", "1000: 00000000")
	a, s0, sp := c.Arch, reg(t, c, "s0"), StartOf(c.Arch.SP)
	var x, y State
	x.Start(a)
	y.Start(a)
	if x.Join(&y) {
		t.Error("equal states lose something")
	}
	x.Store(sp.Plus(-4), StartOf(a.LR), 4)
	x.Store(sp.Plus(-8), StartOf(s0), 4)
	y.Store(sp.Plus(-4), StartOf(a.LR), 4)
	y.Regs[s0] = Const(7)
	x.Limit, y.Limit = 3, 4
	if !x.Join(&y) || x.Regs[s0].Kind != Unknown || x.Regs[a.SP] != sp || x.Limit != 0 {
		t.Errorf("s0 is %+v, SP %+v, a table has %d elements", x.Regs[s0], x.Regs[a.SP], x.Limit)
	}
	if got := x.Load(sp.Plus(-4), 4); got != StartOf(a.LR) {
		t.Errorf("what both stored is %+v", got)
	}
	if len(x.Slots) != 1 {
		t.Errorf("%d slots; only one path saved s0", len(x.Slots))
	}
	if x.Join(&y) {
		t.Error("joining again loses more")
	}
}

// TestSlots: overlapping stores, loads of a part, and an upper bound.
func TestSlots(t *testing.T) {
	a := code(t, "mips o32 big", "1000: 00000000").Arch
	sp := StartOf(a.SP)
	var s State
	s.Start(a)
	s.Store(sp, Const(1), 4)
	s.Store(sp.Plus(4), Const(2), 4)
	s.Store(sp.Plus(2), Const(3), 4) // overwrites halves of both
	for _, tt := range []struct {
		name string
		off  int64
		size uint8
		want Value
	}{
		{"an overwritten slot", 0, 4, Value{}},
		{"the new slot", 2, 4, Const(3)},
		{"half of a slot", 2, 2, Value{}},
		{"untouched memory", 16, 4, Value{Kind: StartMemory, Base: Base(a.SP), Off: 16}},
	} {
		if got := s.Load(sp.Plus(tt.off), tt.size); got != tt.want {
			t.Errorf("%s holds %+v", tt.name, got)
		}
	}
	for i := range int64(1000) {
		s.Store(sp.Plus(-4*i), Const(i), 4)
	}
	if len(s.Slots) > maxSlots {
		t.Errorf("%d slots are remembered", len(s.Slots))
	}
}

// TestReleasedSlots: epilogues load from below SP what was saved there, but a new frame
// does not find it.
func TestReleasedSlots(t *testing.T) {
	c := code(t, "x86_64", "1000: 90")
	rbx, sp := reg(t, c, "rbx"), c.Arch.SP
	var s State
	s.Start(c.Arch)
	slot := StartOf(sp).Plus(-8)
	s.moveSP(sp, slot)
	s.Store(slot, StartOf(rbx), 8)
	s.moveSP(sp, StartOf(sp))
	if got := s.Load(slot, 8); got != StartOf(rbx) {
		t.Errorf("in the red zone stands %+v", got)
	}
	s.moveSP(sp, StartOf(sp).Plus(-16))
	if got := s.Load(slot, 8); got == StartOf(rbx) {
		t.Error("a new frame finds what the old one had saved")
	}
}

// TestFrames: when a frame is gone, and what is evidence that there was one.
func TestFrames(t *testing.T) {
	c := code(t, "mips o32 big", "1000: 00000000")
	a := c.Arch
	var s State
	s.Start(a)
	if !s.FrameGone(a) || s.FrameRestored(a) {
		t.Error("on entry there is no frame")
	}
	s.Store(StartOf(a.SP).Plus(-4), StartOf(a.LR), 4)
	if !s.FrameRestored(a) || !s.Holds(StartOf(a.LR)) || s.Saved(a.Preserved) {
		t.Error("the return address is saved, and nothing else")
	}
	if s.Regs[a.LR] = Const(1); s.FrameGone(a) {
		t.Error("the return address is elsewhere")
	}
}

// TestUntaken: behind a conditional epilogue that does not happen (popne {r4,pc}), SP is as
// before, and a register that the instructions set is known no more.
func TestUntaken(t *testing.T) {
	c := code(t, "arm", "1000: e1a00000")
	r4, sp := reg(t, c, "r4"), c.Arch.SP
	var s, taken State
	s.Start(c.Arch)
	s.moveSP(sp, StartOf(sp).Plus(-8))
	taken.CopyFrom(&s)
	taken.moveSP(sp, StartOf(sp))
	taken.Regs[r4] = Const(0)
	s.JoinUntaken(&taken, sp)
	if s.Regs[sp] != StartOf(sp).Plus(-8) || s.Regs[r4].Kind != Unknown {
		t.Errorf("SP %+v, r4 %+v", s.Regs[sp], s.Regs[r4])
	}
}
