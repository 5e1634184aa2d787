package rtos

import (
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
)

// TestContext: a context without its control block is that of its port or, where another port could have made it, none. Never
// is it another one.
func TestContext(t *testing.T) {
	all := append(append(cpu.Set(arm.Archs()), riscv.Archs()...), mips.Archs()...)
	ports := layouts()
	known := 0
	for i := range ports {
		l := &ports[i]
		arch := all[slices.IndexFunc(all, func(a *cpu.Arch) bool { return l.fits(a) && !a.BigEndian && l.embedded == (a.ABI == embedded) })]
		if l.ends || len(l.before)+len(l.after) > 0 || l.returnAt != 0 {
			continue
		}
		for _, extended := range []bool{false, true} {
			m := newMachine(arch)
			top := m.base + 0x4000
			sp := m.saved(l.saved, top, extended && slices.ContainsFunc(l.saved, func(w string) bool {
				return strings.HasSuffix(w, "floats") || w[0] == 'f' && w[1] == 's' || w == "vs16"
			}))
			regs, ok := Context(t.Context(), m.snapshot(), sp)
			pc, _ := arch.SplitCode(regs.Val[arch.PC])
			stated := slices.Contains(l.saved, "sp")
			if ok && (regs.Val[arch.SP] != top && !stated || pc != m.code && pc != m.code+8) {
				t.Errorf("%s, %v: SP %#x, want %#x; PC %#x", l.kernel, l.saved, regs.Val[arch.SP], top, pc)
			}
			if ok {
				known++
			}
		}
	}
	if known < len(ports) {
		t.Errorf("%d contexts were known", known)
	}
	m := newMachine(archOf(arm.Archs(), "cortexm"))
	if _, ok := Context(t.Context(), m.snapshot(), m.base+0x100); ok {
		t.Error("a context of zeros")
	}
}
