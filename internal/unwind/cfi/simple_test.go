package cfi_test

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/unwind"
)

// plt is what binutils write for .plt: CFA = rsp + 8 + ((rip & 15) ≥ 11) << 3, for the
// stub's second instruction pushes.
var plt = code{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}

// TestSimpleExpressions: expressions that come to a register and an offset become
// ordinary rules.
func TestSimpleExpressions(t *testing.T) {
	cfa := func(e code) code { return append(code{0x0f, byte(len(e))}, e...) }
	of := func(op byte, e code) code { return append(code{op, 3, byte(len(e))}, e...) } // of rbx
	const entry = "CFA=rsp+8 RA=[CFA-8]"
	for _, c := range []struct {
		name  string
		code  code
		off   uint64
		exact bool
		want  string
	}{
		{"a PLT stub, its first instruction", cfa(plt), 0, true, "CFA=rsp+8 RA=[CFA-8]"},
		{"its last", cfa(plt), 11, true, "CFA=rsp+16 RA=[CFA-8]"},
		{"the PC is not known exactly", cfa(plt), 11, false, "CFA=expression RA=[CFA-8]"},
		{"realigned: breg6 -8, deref", cfa(code{0x76, 0x78, 0x06}), 0, true, "CFA=[rbp-8] RA=[CFA-8]"},
		{"breg6 -8, deref, plus_uconst 16", cfa(code{0x76, 0x78, 0x06, 0x23, 16}), 0, true, "CFA=[rbp-8]+16 RA=[CFA-8]"},
		{"two words deep", cfa(code{0x76, 0x78, 0x06, 0x06}), 0, true, "CFA=expression RA=[CFA-8]"},
		{"two registers", cfa(code{0x76, 0, 0x77, 0, 0x22}), 0, true, "CFA=expression RA=[CFA-8]"},
		{"the PC itself", cfa(code{0x80, 0}), 0, true, "CFA=expression RA=[CFA-8]"},
		{"a constant", cfa(code{0x38}), 0, true, "CFA=expression RA=[CFA-8]"},
		{"nothing", cfa(code{}), 0, true, "CFA=expression RA=[CFA-8]"},
		{"a register that is not tracked: breg17 0", cfa(code{0x81, 0}), 0, true, "CFA=expression RA=[CFA-8]"},
		{"rbx saved at breg6 -16", of(0x10, code{0x76, 0x70}), 0, true, entry + " rbx=[rbp-16]"},
		{"rbx saved below the CFA: lit16, plus", of(0x10, code{0x40, 0x22}), 0, true, entry + " rbx=[CFA+16]"},
		{"rbx saved where a word points", of(0x10, code{0x76, 0x70, 0x06}), 0, true, entry + " rbx=[expression]"},
		{"rbx was breg6 -16", of(0x16, code{0x76, 0x70}), 0, true, entry + " rbx=rbp-16"},
		{"rbx was the CFA + 8", of(0x16, code{0x23, 8}), 0, true, entry + " rbx=CFA+8"},
		{"rbx was in the word at breg6 -16", of(0x16, code{0x76, 0x70, 0x06}), 0, true, entry + " rbx=[rbp-16]"},
		{"too deep", cfa(code{0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x77, 0}), 0, true, "CFA=expression RA=[CFA-8]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cie := cieText{version: 1, ra: 16, code: onEntry}
			frames := cie.assemble(8, fdeText{start: textAddr, size: 16, code: c.code})
			img := imageOf(archNamed(t, "x86_64", "", false), image.Section{Name: ".eh_frame", Data: frames})
			var r stackwalk.Rule
			r.Reset()
			v := cfi.New().Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: textAddr + c.off, Exact: c.exact}, &r)
			if got := r.Format(img.Arch); v != unwind.Found || got != c.want {
				t.Errorf("%v, %s, want %s", v, got, c.want)
			}
		})
	}
}
