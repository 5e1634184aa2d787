package diff

import (
	"os"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/unwind"
)

// TestRecordedPrograms compares where the recorded programs kept their tables, a
// sample of the functions.
func TestRecordedPrograms(t *testing.T) {
	cases, err := truth.Cases("../../testdata/truth", "")
	if err != nil {
		t.Fatal(err)
	}
	var sum Tally
	var results []*Result
	for i := range cases {
		elf, found, cleanup, err := cases[i].Binary("stripped")
		if err != nil {
			t.Fatal(err)
		}
		if !found {
			continue
		}
		r, err := Run(elf, Options{Archs: backsight.CPUs(), Every: 10, Keep: 1})
		cleanup()
		if err != nil {
			t.Fatal(err)
		}
		one := r.Total()
		sum.add(&one)
		results = append(results, r)
	}
	if sum.Places < 500 || sum.Agree*100 < sum.Places*97 {
		var b strings.Builder
		Table(&b, results)
		t.Errorf("%d places, %d agree\n%s", sum.Places, sum.Agree, b.String())
	}
}

// libc's .plt has CFA = rsp + 8 + ((rip & 15) ≥ 11) << 3 as an expression.
func TestNormalizePLT(t *testing.T) {
	a, _ := backsight.CPUs().ByName("x86_64", "", false)
	sp, _ := a.RegByDWARF(7)
	plt := []byte{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22} // breg7 8, breg16 0, lit15, and, lit11, ge, lit3, shl, plus
	for pc, want := range map[uint64]int64{0x1000: 8, 0x100b: 16} {
		r := unwind.Rule{CFA: unwind.RegRule{Kind: unwind.ValExpression, Reg: cpu.NoReg, Base: cpu.NoReg, Expr: plt}}
		normalize(a, pc, &r)
		if r.CFA.Kind != unwind.RegPlus || r.CFA.Base != sp || r.CFA.Off != want {
			t.Errorf("at %#x: %+v, want rsp+%d", pc, r.CFA, want)
		}
	}
}

// A realigned frame of GCC: CFA = [rbp-8].
func TestNormalizeRealigned(t *testing.T) {
	a, _ := backsight.CPUs().ByName("x86_64", "", false)
	r := unwind.Rule{CFA: unwind.RegRule{Kind: unwind.ValExpression, Reg: cpu.NoReg, Base: cpu.NoReg, Expr: []byte{0x76, 0x78, 0x06}}} // breg6 -8, deref
	normalize(a, 0x1000, &r)
	if r.CFA.Kind != unwind.AtReg || r.CFA.Base != a.FP || r.CFA.Off != -8 {
		t.Errorf("%+v, want [rbp-8]", r.CFA)
	}
}

// TestLibrary compares a sample of a library that every Debian has.
func TestLibrary(t *testing.T) {
	const libc = "/lib/x86_64-linux-gnu/libc.so.6"
	if _, err := os.Stat(libc); err != nil {
		t.Skip(err)
	}
	r, err := Run(libc, Options{Archs: backsight.CPUs(), Every: 200, Keep: 3})
	if err != nil {
		t.Fatal(err)
	}
	sum := r.Total()
	if sum.Places < 500 || sum.Agree*100 < sum.Places*97 {
		t.Errorf("%+v", sum)
		for i := range r.Disagreements {
			var b strings.Builder
			r.Show(&b, &r.Disagreements[i])
			t.Log(b.String())
		}
	}
}
