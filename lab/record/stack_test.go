package record

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
)

func noWord(uint64) uint64 { return 0 }

func named(t *testing.T, set []*cpu.Arch, name string) *cpu.Arch {
	t.Helper()
	a, ok := cpu.Set(set).ByName(name, "", false)
	if !ok {
		t.Fatal("no ", name)
	}
	return a
}

// chain is what the shadow stack says, outermost first.
func (s *shadow) chain() (starts []uint64) {
	for _, e := range s.entries {
		starts = append(starts, e.start)
	}
	return starts
}

func expect(t *testing.T, s *shadow, what string, want ...uint64) {
	t.Helper()
	got := s.chain()
	if len(got) != len(want) {
		t.Fatalf("%s: %#x, want %#x", what, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: %#x, want %#x", what, got, want)
		}
	}
}

// main calls f, f calls g and g jumps back to where setjmp returned in main.
func TestLongjmp(t *testing.T) {
	s := shadow{arch: named(t, arm64.Archs(), "aarch64"), entries: []entry{{ret: 0x10, cfa: 0x9000, start: 0x1000}}}
	call := cpu.Insn{Op: cpu.OpCall, Len: 4}
	back := cpu.Insn{Op: cpu.OpReturn, Len: 4}
	at := func(pc, sp, lr uint64, in cpu.Insn) *moment {
		return &moment{pc: pc, sp: sp, lr: lr, insn: in, next: pc + 4}
	}

	s.step(at(0x1010, 0x8000, 0, call), at(0x3000, 0x8000, 0x1014, back), noWord)
	expect(t, &s, "setjmp", 0x1000, 0x3000)
	s.step(at(0x3000, 0x8000, 0x1014, back), at(0x1014, 0x8000, 0x1014, call), noWord)
	expect(t, &s, "setjmp returns", 0x1000)
	s.step(at(0x1014, 0x8000, 0x1014, call), at(0x4000, 0x8000, 0x1018, call), noWord)
	s.step(at(0x4010, 0x7000, 0x1018, call), at(0x5000, 0x7000, 0x4014, back), noWord)
	expect(t, &s, "f and g", 0x1000, 0x4000, 0x5000)
	s.step(at(0x5000, 0x7000, 0x4014, back), at(0x1014, 0x8000, 0x1014, call), noWord)
	expect(t, &s, "longjmp", 0x1000)
}

// A call that leaves no return address is none: bl to the next instruction, calls
// through another register.
func TestCallWithoutReturnAddress(t *testing.T) {
	s := shadow{arch: named(t, arm64.Archs(), "aarch64")}
	s.step(&moment{pc: 0x100, next: 0x104, insn: cpu.Insn{Op: cpu.OpCall, Len: 4}}, &moment{pc: 0x800, lr: 0x44}, noWord)
	expect(t, &s, "call through t0")
}

// i386: the callee pops an argument, so that SP is above the CFA on return.
func TestCalleePops(t *testing.T) {
	a := named(t, x86.Archs(), "i386")
	s := shadow{arch: a, entries: []entry{{cfa: 0x9000, start: 0x1000}}}
	ret := func(uint64) uint64 { return 0x1005 }
	s.step(&moment{pc: 0x1000, sp: 0x8000, next: 0x1005, insn: cpu.Insn{Op: cpu.OpCall, Len: 5}}, &moment{pc: 0x2000, sp: 0x7ffc}, ret)
	expect(t, &s, "call", 0x1000, 0x2000)
	s.step(&moment{pc: 0x2009, sp: 0x7ffc, insn: cpu.Insn{Op: cpu.OpReturn, Len: 3, Imm: 4}}, &moment{pc: 0x1005, sp: 0x8004}, noWord)
	expect(t, &s, "ret 4", 0x1000)
}

// TestSignal: the shadow stack while a signal's handler runs, returns to the trampoline, and the program resumes.
func TestSignal(t *testing.T) {
	s := shadow{arch: named(t, arm64.Archs(), "aarch64"), entries: []entry{{cfa: 0x9000, start: 0x1000}}}
	s.deliver(&moment{pc: 0x1020, sp: 0x8000}, &moment{pc: 0x2000, sp: 0x7000, lr: 0xf000}, noWord)
	expect(t, &s, "handler", 0x1000, 0xf000, 0x2000)
	back := cpu.Insn{Op: cpu.OpReturn, Len: 4}
	s.step(&moment{pc: 0x2008, sp: 0x7000, insn: back}, &moment{pc: 0xf000, sp: 0x7000}, noWord)
	expect(t, &s, "trampoline", 0x1000, 0xf000)
	if e, ok := s.sigreturn(&moment{pc: 0xf004}); !ok || e.ret != 0x1020 || e.cfa != 0x8000 {
		t.Errorf("resumes %+v", e)
	}
	expect(t, &s, "resumed", 0x1000)
}

// Each kind of place has its share, and no function has more than its own.
func TestPicker(t *testing.T) {
	p := picker{keep: 20}
	n := 0
	for pc := range uint64(100) {
		if p.wants(kindLeaf, 0x1000, pc, int(pc)) {
			n++
		}
	}
	if n != perStratum {
		t.Errorf("%d leaves of one function, want %d", n, perStratum)
	}
	for f := range uint64(100) {
		if p.wants(kindLeaf, f, 1000+f, 0) {
			n++
		}
	}
	if n != 20*share[kindLeaf]/100 {
		t.Errorf("%d leaves in all", n)
	}
}

// main calls f, f throws: the unwinder, whose last frame is at main's SP, jumps to the
// landing pad in main. A jump to the beginning of a function is a tail call.
func TestLandingPad(t *testing.T) {
	function := func(pc uint64) uint64 { return pc &^ 0xfff }
	s := shadow{arch: named(t, arm64.Archs(), "aarch64"), function: function, entries: []entry{{ret: 0x10, cfa: 0x9000, start: 0x1000}}}
	call := cpu.Insn{Op: cpu.OpCall, Len: 4}
	jump := cpu.Insn{Op: cpu.OpJump, Src: 3, Len: 4}
	at := func(pc, lr uint64, in cpu.Insn) *moment {
		return &moment{pc: pc, sp: 0x8000, lr: lr, insn: in, next: pc + 4}
	}
	s.step(at(0x1010, 0, call), at(0x4000, 0x1014, jump), noWord)
	expect(t, &s, "f", 0x1000, 0x4000)
	s.step(at(0x4000, 0x1014, jump), at(0x5000, 0x1014, jump), noWord)
	expect(t, &s, "a tail call", 0x1000, 0x4000)
	s.step(at(0x5010, 0x1014, jump), at(0x1040, 0x1014, call), noWord)
	expect(t, &s, "a landing pad", 0x1000)
}
