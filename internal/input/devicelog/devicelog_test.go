package devicelog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
)

// TestParse: addresses and identity, whatever stands before; other lines are none.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"backsight: 0x00000014 0x00000024  7158392a":        "[14 24] 7158392a",
		"[12:00:01] E (123) backsight: 0x400d34":            "[400d34] ",
		"backsight: 0x14 0x24 0xzz 0x25  71":                "[14 24] ",
		"backsight: 0x14  7":                                "[14] ",
		"backsight: no tables":                              "",
		"backsight: 0x":                                     "",
		"the backsight 0x14":                                "",
		"backsight: 0xffffffffffffffff 0x1ffffffffffffffff": "[ffffffffffffffff] ",
		"backsight: 0x14 " + strings.Repeat("7158392a", 99): "[14] " + strings.Repeat("7158392a", maxIdentity/4),
	} {
		l, ok := parse(text)
		got := ""
		if ok {
			got = fmt.Sprintf("%x %x", l.pcs, l.identity)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestModeBit: addresses of Thumb code are the same with the mode bit and without.
func TestModeBit(t *testing.T) {
	archs := arm.Archs()
	arch := archs[slices.IndexFunc(archs, func(a *cpu.Arch) bool { return a.ISABit && !a.ModeOnly })]
	for _, pcs := range [][]uint64{{0x10014, 0x10024}, {0x10015, 0x10025}, {0x10014, 0x10025}} {
		thread := (&line{pcs: pcs}).thread(arch)
		pc, mode, _ := arch.PCOf(&thread.Regs)
		first, second := thread.Listed[0], thread.Listed[1]
		if first.PC != 0x10014 || !first.Exact || second.PC != 0x10024 || second.Exact || pc != 0x10014 || mode != 1 {
			t.Errorf("%x: %v, at %#x in mode %d", pcs, thread.Listed, pc, mode)
		}
	}
}

// FuzzParse: no line brings the reader down.
func FuzzParse(f *testing.F) {
	f.Add("backsight: 0x14 0x24  7158392a")
	f.Fuzz(func(t *testing.T, text string) {
		if l, ok := parse(text); ok && (len(l.pcs) == 0 || len(l.pcs) > maxFrames) {
			t.Error(l)
		}
	})
}
