package device

import "testing"

// TestAgreed: what holds for a call's unit, where the frame before the call and the frame while it runs
// share the unit. The delay slot of the call may save a register: whether the slot or the register has the
// value is not known there, and what else the frames say is.
func TestAgreed(t *testing.T) {
	slot := func(n int32) value { return value{reg: noReg, slot: n} }
	register := func(n int8) value { return value{reg: n, slot: none} }
	made := func(off int32, ra, s1 value) frame {
		f := frame{kind: known, off: off, ra: ra}
		f.saved[0] = s1
		return f
	}
	const s1 = keeps
	for _, c := range []struct {
		what                 string
		before, during, want frame
	}{
		{"the same", made(8, slot(-1), slot(-6)), made(8, slot(-1), slot(-6)), made(8, slot(-1), slot(-6))},
		{"the unit saves s1", made(8, slot(-1), register(s1)), made(8, slot(-1), slot(-6)), made(8, slot(-1), lost())},
		{"the unit saves the return address", made(8, register(3), slot(-6)), made(8, slot(-1), slot(-6)), frame{}},
		{"the unit moves the stack pointer", made(0, slot(-1), slot(-6)), made(8, slot(-1), slot(-6)), frame{}},
		{"nothing is known while the call runs", made(8, slot(-1), slot(-6)), frame{}, frame{}},
		{"the same, and no call leaves the return address there", made(8, register(3), slot(-6)), frame{}, made(8, register(3), slot(-6))},
	} {
		if got := agreed(c.before, c.during); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}
