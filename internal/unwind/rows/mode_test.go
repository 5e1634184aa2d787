package rows_test

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/internal/unwind/rows"
)

// TestModes: code of both modes of ARM in one program. An entry of a PLT has two Thumb instructions and
// three of ARM, which other Thumb code calls. Only code points to a signal handler, which never returns
// and overwrites what others would save.
func TestModes(t *testing.T) {
	img := codetest.Program{CPU: "arm", Entry: 0x10001, Data: map[uint64][]uint64{0x21000: {0}}, Listing: `
10000: b510       push {r4, lr}
10002: f240 0029  movw r0, #0x29
10006: f2c0 0001  movt r0, #1        the handler, with the bit of its mode
1000a: f000 e808  blx 1001c
1000e: bd10       pop {r4, pc}
10010: 0000 0000  constants
10014: 0000 0000
10018: 4778       bx pc
1001a: e7fd       b 10018
1001c: e28fc600   add ip, pc, #0
10020: e28cca11   add ip, ip, #0x11000
10024: e5bcf004   ldr pc, [ip, #4]!
10028: 460d       mov r5, r1         the handler
1002a: b508       push {r3, lr}
1002c: f7ff fff2  bl 10014
10030: e7fe       b 10030
`}.Image(t)
	analysis, list := sources()
	p, err := rows.List(t.Context(), img, rows.Code{Entries: analysis.Entries, Modes: analysis.Modes}, list...)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[uint64]struct {
		mode    cpu.Mode
		cfa, ra string
	}{
		0x10018: {1, "sp", "lr"},
		0x1001c: {0, "sp", "lr"},
		0x10024: {0, "sp", "lr"},
		0x10028: {1, "sp", "lr"},
		0x1002c: {1, "sp+8", "lr"},
		0x10030: {1, "sp+8", "[CFA-4]"},
	} {
		r := p.At(at)
		if r == nil {
			t.Errorf("%#x: no rule", at)
			continue
		}
		i := 0
		for p.Functions[i].End <= at {
			i++
		}
		if mode, cfa, ra := p.Functions[i].Mode, r.CFA.Format(img.Arch), r.RA.Format(img.Arch); mode != want.mode || cfa != want.cfa || ra != want.ra {
			t.Errorf("%#x: mode %d, CFA=%s RA=%s; want %+v", at, mode, cfa, ra, want)
		}
	}
}
