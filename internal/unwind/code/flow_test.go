package code

import (
	"testing"

	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// linked is a program of two modules: a stub in the first jumps through its GOT to
// f in the second, which tail-calls g there; h is beside them.
//
//	app  0x400000  stub: lui t7,0x41; lw t9,16(t7); jr t9; addiu t8,t7,16
//	     0x400020  a frame, jalr of the constant 0x400050; 0x400050 leaf
//	lib  0x400000  f: j g;  0x400010 g;  0x400020 h       mapped at 0x77400000
func linked(t *testing.T) (*Source, *target.Snapshot) {
	a := arch(t, "mips", "o32", true)
	const bias = 0x7700_0000
	app := program(a, words(
		0x3c0f0041, 0x8df90010, 0x03200008, 0x25f80010, nop, nop, nop, nop,
		allocate, saveRA, 0x3c190040, 0x27390050, 0x0320f809, nop, restoreRA, jrRA, release, nop, nop, nop,
		jrRA, nop,
	), nil, text, text+0x20, text+0x50)
	lib := program(a, words(
		0x10000003, nop, nop, nop, // b g
		0x24420001, jrRA, nop, nop,
		jrRA, nop,
	), nil, text, text+0x10, text+0x20)
	var b target.Builder
	b.Add(0x41_0010, words(text+bias), 0, target.PermRead)
	modules := []*target.Module{{Name: "app", Image: app}, {Name: "lib", Image: lib, Bias: bias}}
	for _, m := range modules {
		lo, hi := m.Image.Bounds()
		m.Range = target.Range{Lo: lo + m.Bias, Hi: hi + m.Bias}
	}
	return New(nil), &target.Snapshot{Arch: a, Memory: b.Memory(a), Modules: modules}
}

// TestReaches: a call to the stub runs f and g, in the other module, but not h.
func TestReaches(t *testing.T) {
	s, snap := linked(t)
	const lib = text + 0x7700_0000
	for _, c := range []struct {
		entry, pc uint64
		want      unwind.Answer
	}{
		{text, text + 8, unwind.Yes},         // the stub itself
		{text, lib, unwind.Yes},              // through the GOT
		{text, lib + 0x10, unwind.YesByJump}, // and the tail call
		{text, lib + 0x20, unwind.No},        // h is another function
		{text + 0x50, text + 0x20, unwind.No},
		{text + 0x20, text + 0x50, unwind.No}, // called, which is another frame
		{0x1000, lib, unwind.Unknown},         // outside all modules
	} {
		if got, _ := s.Reaches(snap, c.entry, 0, c.pc); got != c.want {
			t.Errorf("%#x reaches %#x: %d, want %d", c.entry, c.pc, got, c.want)
		}
	}
}

// TestCallee: an indirect call whose target was built in the code.
func TestCallee(t *testing.T) {
	s, snap := linked(t)
	if to, mode, ok := s.Callee(snap, text+0x30, 0); !ok || to != text+0x50 || mode != 0 {
		t.Errorf("%#x, mode %d, %v", to, mode, ok)
	}
	for _, site := range []uint64{text + 0x20, 0x1000, text + 0x1000} {
		if to, _, ok := s.Callee(snap, site, 0); ok {
			t.Errorf("%#x calls %#x", site, to)
		}
	}
}
