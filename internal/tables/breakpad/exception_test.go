package breakpad

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// TestExceptionReturns: a firmware's file has records for the values of EXC_RETURN, relative to where
// the firmware is loaded; with floating-point registers the frame is larger.
func TestExceptionReturns(t *testing.T) {
	archs := arm.Archs()
	arch := archs[slices.IndexFunc(archs, func(a *cpu.Arch) bool { return a.ABI == "cortexm" })]
	p := &tables.Program{
		Image: image.New(image.Header{Path: "firmware.elf", Arch: arch, Segments: []image.Segment{{Addr: 0x8000000, Size: 0x1000, Exec: true}}}, nil),
		Rules: []tables.Rule{{CFA: rule.Register{Kind: rule.RegPlus, Base: arch.SP}, RA: rule.Register{Kind: rule.RegPlus, Base: arch.LR}}},
		Functions: []tables.Function{
			{Start: 0x8000100, End: 0x8000110, Rows: []tables.Row{{Addr: 0x8000100, Rule: 0}}},
		},
	}
	var b bytes.Buffer
	if _, err := Format().Write(&b, p); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	const saved = " r0: sp 0 + ^ r1: sp 4 + ^ r2: sp 8 + ^ r3: sp 12 + ^ r12: sp 16 + ^ lr: sp 20 + ^ .ra: sp 24 + ^"
	for _, want := range []string{
		"STACK CFI INIT f7fffff6 4 .cfa: sp 32 + sp 28 + ^ 512 / 2 % 4 * +" + saved,
		"STACK CFI INIT f7ffffe6 4 .cfa: sp 104 + sp 28 + ^ 512 / 2 % 4 * +" + saved,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}
