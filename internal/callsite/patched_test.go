package callsite

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/synth"
)

func archNamed(t *testing.T, list []*cpu.Arch, name string) *cpu.Arch {
	for _, a := range list {
		if a.Name == name {
			return a
		}
	}
	t.Fatal("no", name)
	return nil
}

// TestPatched: default_idle of Linux 6.12 calls through pv_ops in the file, and directly where it runs. A return
// address elsewhere within an instruction is none.
func TestPatched(t *testing.T) {
	arch := archNamed(t, x86.Archs(), "x86_64")
	m := synth.Module(arch, 0x1000, []byte{
		0xf3, 0x0f, 0x1e, 0xfa, // 1000 endbr64
		0xff, 0x15, 0x7e, 0xd8, 0xf4, 0x00, // 1004 call *0xf4d87e(%rip)
		0xe8, 0x10, 0x00, 0x00, 0x00, // 100a call 101f, a retpoline
		0x90, 0x90, 0x90})
	m.Bias = 0x500000
	for ra, want := range map[uint64]bool{0x1009: true, 0x100c: true, 0x100d: true, 0x1008: false, 0x100b: false, 0x1011: false, 0x9000: false} {
		if got := Patched(m, ra+m.Bias, 0); got != want {
			t.Errorf("%#x: %v", ra, got)
		}
	}
	if Patched(nil, 0x1009, 0) {
		t.Error("without a module")
	}
	if o32 := synth.Module(archNamed(t, mips.Archs(), "mips"), 0x1000, make([]byte, 32)); Patched(o32, 0x1010, 0) {
		t.Error("on MIPS, whose calls are of one size")
	}
}
