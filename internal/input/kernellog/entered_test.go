package kernellog

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/mips"
)

// TestEnteredAt: the registers of user space lie at the end of the stack that begins where gp points to.
func TestEnteredAt(t *testing.T) {
	const unknown = 1
	for _, c := range []struct {
		what, abi    string
		gp, sp, want uint64
	}{
		{"two pages", "o32", 0x8305c000, 0x8305dca8, 0x8305df28},
		{"four pages", "n64", 0x90000000032f8000, 0x90000000032fbb80, 0x90000000032fbeb0},
		{"SP on another stack, that of interrupts", "o32", 0x8305c000, 0x81f7dca8, 0},
		{"gp within a page", "o32", 0x8305c010, 0x8305dca8, 0},
		{"gp is 0", "o32", 0, 0x1000, 0},
		{"gp is not known", "n64", unknown, 0x90000000032fbb80, 0x90000000032fbeb0},
	} {
		var arch *cpu.Arch
		for _, a := range mips.Archs() {
			if a.ABI == c.abi && !a.BigEndian && arch == nil {
				arch = a
			}
		}
		gp, _ := arch.RegByName("gp")
		var regs cpu.Registers
		if c.gp != unknown {
			regs.Set(gp, c.gp)
		}
		regs.Set(arch.SP, c.sp)
		if got := enteredAt(machineNamed(arch.Name), arch, &regs); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.what, got, c.want)
		}
	}
}

// TestServesUser: the idle task and workers of workqueues have no registers of user space at the end of their stacks.
func TestServesUser(t *testing.T) {
	for _, c := range []struct {
		r    record
		want bool
	}{
		{record{heading: heading{pid: 96}}, true},
		{record{heading: heading{pid: 0}}, false},
		{record{heading: heading{pid: 96}, work: place{symbol: "work_fn"}}, false},
	} {
		if mayServeUser(&c.r) != c.want {
			t.Errorf("PID %d, work %q: %t", c.r.pid, c.r.work.symbol, !c.want)
		}
	}
}
