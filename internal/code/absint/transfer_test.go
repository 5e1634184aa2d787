package absint

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestTargets: where calls and jumps go, as far as constants tell.
func TestTargets(t *testing.T) {
	for _, tt := range []struct {
		name, listing string
		want          uint64 // 0: not known
	}{
		{"a direct jump", "1000: eb 0e              jmp 1010", 0x1010},
		{"through a register", "1000: ff e0              jmp *%rax", 0},
		{"through the GOT", "1000: ff 25 fa 2f 00 00  jmp *0x2ffa(%rip)", 0x1010},
		{"through a word that holds no code's address", "1000: ff 25 02 30 00 00  jmp *0x3002(%rip)", 0},
		{"through a table", "1000: ff 24 c5 00 40 00 00  jmp *0x4000(,%rax,8)", 0},
	} {
		c := disasm.Of(codetest.Program{CPU: "x86_64", Listing: tt.listing + "\n1010: c3", Data: map[uint64][]uint64{0x4000: {0x1010, 0x9999}}}.Image(t))
		m := New(c)
		var st State
		var in cpu.Insn
		st.Start(c.Arch)
		if !c.One(disasm.Addr{PC: 0x1000}, &in) {
			t.Fatal(tt.listing)
		}
		if to, ok := m.Target(&st, &in); ok != (tt.want != 0) || ok && to.PC != tt.want {
			t.Errorf("%s: %t, %#x", tt.name, ok, to.PC)
		}
	}
}

// TestOtherStacks: which stack pointers are another stack than the caller's.
func TestOtherStacks(t *testing.T) {
	a := code(t, "aarch64", "1000: d503201f").Arch
	for _, tt := range []struct {
		name          string
		sp            Value
		foreign, left bool
	}{
		{"a frame", StartOf(a.SP).Plus(-16), false, false},
		{"an aligned frame", Value{Kind: StartRelative, Base: firstSymbol}, false, false},
		{"out of memory", Value{Kind: StartMemory}, true, true},
		{"loaded from nobody knows where", Value{Kind: OtherStack}, true, true},
		{"out of an argument", StartOf(0), true, true},
		{"out of the caller's frame pointer", StartOf(a.FP), true, false},
	} {
		if f, l := Foreign(tt.sp, a), LeftStack(tt.sp, a); f != tt.foreign || l != tt.left {
			t.Errorf("%s: foreign %t, left %t", tt.name, f, l)
		}
	}
}

// TestReadsPreserved: to use what a preserved register held is what no function begins with;
// to save it is.
func TestReadsPreserved(t *testing.T) {
	for listing, want := range map[string]bool{
		"1000: 48 8b 7b 08        mov 8(%rbx),%rdi": true,
		"1000: 48 89 df           mov %rbx,%rdi":    true,
		"1000: 53                 push %rbx":        false,
		"1000: 48 89 fb           mov %rdi,%rbx":    false,
	} {
		c := code(t, "x86_64", listing)
		var st State
		var in cpu.Insn
		st.Start(c.Arch)
		if c.One(disasm.Addr{PC: 0x1000}, &in); st.ReadsPreserved(&in, c.Arch) != want {
			t.Errorf("%s: %t", listing, !want)
		}
	}
}
