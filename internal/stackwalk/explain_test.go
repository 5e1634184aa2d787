package stackwalk_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// TestExplain: every question and its answer is told, with the reason for what
// was not taken.
func TestExplain(t *testing.T) {
	arch := o32()
	code := tables(arch, unwind.MethodCode, stackwalk.FromEntry|stackwalk.Agreed)
	wrong := saved(arch, 16, 0)
	unknown := saved(arch, 8, 0)
	unknown.CFA.Base, _ = arch.RegByName("s8")
	missing := saved(arch, 0x10000, 0)
	code.at[inF] = append([]stackwalk.Rule{wrong, unknown, missing}, code.at[inF]...)
	silent := rules{method: unwind.MethodCFI}
	type line struct {
		frame, try int
		method     unwind.Method
		verdict    unwind.Verdict
		taken      bool
		reason     string
	}
	var got []line
	snap := stopped(arch, stackOf(arch))
	walk(snap, stackwalk.Options{Sources: []stackwalk.Source{silent, code}, Explain: func(a unwind.Attempt) {
		if a.Arch != arch || a.Verdict == unwind.Found && a.Rule == nil {
			t.Errorf("incomplete: %+v", a)
		}
		got = append(got, line{a.Frame, a.Try, a.Method, a.Verdict, a.Taken, a.Reason})
	}})
	want := []line{
		{0, 0, unwind.MethodCFI, unwind.NotCovered, false, "not covered"},
		{0, 0, unwind.MethodCode, unwind.Found, true, ""},
		{1, 0, unwind.MethodCFI, unwind.NotCovered, false, "not covered"},
		{1, 0, unwind.MethodCode, unwind.Found, false, "the return address is 0"},
		{1, 1, unwind.MethodCode, unwind.Found, false, "a register it needs is unknown"},
		{1, 2, unwind.MethodCode, unwind.Found, false, "memory was not captured"},
		{1, 3, unwind.MethodCode, unwind.Found, true, ""},
		{2, 0, unwind.MethodCFI, unwind.NotCovered, false, "not covered"},
		{2, 0, unwind.MethodCode, unwind.EndOfStack, false, "end of stack"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("told\n%v\nwant\n%v", got, want)
	}
}

// TestRegisters: each frame's registers are shown as its caller will find them.
func TestRegisters(t *testing.T) {
	arch := o32()
	stack := stackOf(arch)
	var sps []uint64
	walk(stopped(arch, stack), stackwalk.Options{
		Sources: []stackwalk.Source{tables(arch, unwind.MethodCFI, 0)},
		Registers: func(n int, regs *cpu.Registers) {
			if sp, ok := regs.Lookup(arch.SP); ok && n == len(sps) {
				sps = append(sps, sp)
			}
		},
	})
	if want := []uint64{stack.Addr("f"), stack.Addr("f"), stack.Addr("main")}; !slices.Equal(sps, want) {
		t.Errorf("SP %#x, want %#x", sps, want)
	}
}
