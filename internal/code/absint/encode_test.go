package absint

import (
	"reflect"
	"testing"

	"github.com/backsight/backsight/cpu"
)

// TestEncoding: a state of every kind of value comes back as it was.
func TestEncoding(t *testing.T) {
	a := code(t, "mips o32 big", "1000: 00000000").Arch
	sp := StartOf(a.SP)
	var s, got State
	s.Start(a)
	for r, v := range []Value{
		{}, Const(-1), Const(1 << 62), {Kind: Constant, Base: FromWritable, Off: 0x400000}, sp.Plus(-48), sp.Plus(1 << 40),
		{Kind: StartRelative, Base: maxSymbols}, {Kind: StartMemory, Base: Base(a.SP), Off: -4, Add: -8},
		{Kind: TableAddress, Off: 0x400100}, {Kind: TableElement, Off: 3}, {Kind: OtherStack},
	} {
		s.Set(cpu.Reg(r+1), v, a)
	}
	for i := range int64(maxSlots) {
		s.Store(sp.Plus(-8*i), s.Regs[i%cpu.MaxRegs], uint8(1<<(i%8)))
	}
	s.moveSP(a.SP, sp.Plus(-80))
	s.Limit, s.Slack = 1<<33, 1
	e := Encoded(AppendEncoded(nil, &s))
	e.Decode(&got)
	if !reflect.DeepEqual(s, got) {
		t.Errorf("%+v became %+v", s, got)
	}
	if again := Encoded(AppendEncoded(nil, &got)); again != e {
		t.Errorf("%q is encoded as %q", e, again)
	}
}

// TestEncodingIsSmall: a state as behind a call in the middle of a function takes some
// dozen bytes.
func TestEncodingIsSmall(t *testing.T) {
	c := code(t, "x86_64", "1000: 90")
	a := c.Arch
	var s State
	s.Start(a)
	sp := StartOf(a.SP).Plus(-8)
	for set := a.Preserved; set != 0; set &= set - 1 {
		s.Store(sp, StartOf(set.First()), 8)
		sp = sp.Plus(-8)
	}
	s.Set(a.SP, sp, a)
	s.Forget(c.CallerSaved())
	if n := len(AppendEncoded(nil, &s)); n > 64 {
		t.Errorf("%d bytes", n)
	}
}

// TestAppendJoin: joining an encoding with a state is joining states.
func TestAppendJoin(t *testing.T) {
	c := code(t, "mips o32 big", "1000: 00000000")
	a, sp, s0 := c.Arch, StartOf(c.Arch.SP), reg(t, c, "s0")
	changes := []func(*State){
		func(*State) {},
		func(s *State) { s.Set(s0, Value{}, a) },
		func(s *State) { s.Set(s0, Const(7), a) },
		func(s *State) { s.Set(s0, Const(7), a); s.Set(a.SP, sp.Plus(-8), a); s.Set(a.LR, sp, a) },
		func(s *State) { s.Store(sp.Plus(-4), StartOf(s0), 4) },
		func(s *State) { s.Store(sp.Plus(-4), Const(7), 4) },
		func(s *State) { s.Store(sp.Plus(-4), StartOf(s0), 4); s.Store(sp.Plus(-8), StartOf(a.LR), 4) },
		func(s *State) { s.Limit, s.Slack = 10, 1 },
		func(s *State) { s.Limit = 9; s.Set(s0, sp.Plus(1<<20), a) },
	}
	for i, of := range changes {
		for j, with := range changes {
			var x, y State
			x.Start(a)
			y.Start(a)
			of(&x)
			with(&y)
			got, less := Encoded(AppendEncoded(nil, &x)).AppendJoin(nil, &y)
			if want := x.Join(&y); less != want || string(got) != string(AppendEncoded(nil, &x)) {
				t.Errorf("state %d joined with state %d: less %v, %q", i, j, less, got)
			}
		}
	}
}
