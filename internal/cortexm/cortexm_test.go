package cortexm

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/target"
)

// TestFrameSize: with and without floating-point registers, with and without the word of
// alignment (DDI 0403 B1.5.7).
func TestFrameSize(t *testing.T) {
	for _, c := range []struct {
		ret  ExcReturn
		xpsr uint64
		want uint64
	}{{0xffff_fff9, 0x0100_0000, 32}, {0xffff_fffd, 0x0100_0200, 36}, {0xffff_ffe9, 0x0100_0000, 104}, {0xffff_ffed, 0x0100_0200, 108}} {
		if got := c.ret.FrameSize(c.xpsr); got != c.want {
			t.Errorf("%#x, %#x: %d bytes, want %d", c.ret, c.xpsr, got, c.want)
		}
	}
}

// TestExcReturn: which values are one, and which stack the frame is on.
func TestExcReturn(t *testing.T) {
	for v, want := range map[ExcReturn][2]bool{0xffff_fff1: {true, false}, 0xffff_fff9: {true, false}, 0xffff_fffd: {true, true},
		0xffff_ffbc: {true, true}, 0xffff_fffc: {true, true}, 0xffff_ffff: {false, false}, 0xffff_fffe: {false, false}, 0x0800_0001: {false, false}} {
		if got := [2]bool{v.Valid(), v.Valid() && v.ProcessStack()}; got != want {
			t.Errorf("%#x: valid, process stack %v; want %v", uint32(v), got, want)
		}
	}
}

// TestStacked: the words in the order in which the processor pushes them; no frame where
// memory ends.
func TestStacked(t *testing.T) {
	var arch *cpu.Arch
	for _, a := range arm.Archs() {
		if a.ABI == "cortexm" {
			arch = a
		}
	}
	var b target.Builder
	data := make([]byte, BasicFrame)
	for i := range 8 {
		data[4*i] = byte(i + 1)
	}
	b.Add(0x2000_0000, data, 0, 0)
	mem := b.Memory(arch)
	regs, ok := Stacked(arch, mem, 0x2000_0000)
	if !ok || regs.Val[arch.LR] != 6 || regs.Val[arch.PC] != 7 || regs.Val[arch.Status] != 8 {
		t.Errorf("%v, %v", regs, ok)
	}
	if _, ok := Stacked(arch, mem, 0x2000_0004); ok {
		t.Error("a frame that was not captured")
	}
}

// TestReasons: bits in words, with the address where it is valid.
func TestReasons(t *testing.T) {
	for _, c := range []struct {
		f    FaultStatus
		want []string
	}{
		{FaultStatus{CFSR: 0x8200, BFAR: 0xa0000000, HFSR: 1 << 30}, []string{"precise data bus error (PRECISERR), at 0xa0000000"}},
		{FaultStatus{CFSR: 0x0400, BFAR: 0xe000ed38}, []string{"imprecise data bus error: a store some instructions before the PC (IMPRECISERR)"}},
		{FaultStatus{CFSR: 1 << 25}, []string{"division by zero (DIVBYZERO)"}},
		{FaultStatus{SFSR: 1 << 3, CFSR: 0}, []string{"access to secure memory by non-secure code (AUVIOL)"}},
		{FaultStatus{SFSR: 1<<3 | 1<<6, SFAR: 0x3000_0000}, []string{"access to secure memory by non-secure code (AUVIOL), at 0x30000000"}},
		{FaultStatus{HFSR: 1 << 31, DFSR: 1 << 1}, []string{"debug event while no debugger is there: a breakpoint instruction (DEBUGEVT)", "breakpoint (BKPT)"}},
		{FaultStatus{DFSR: 1 << 2}, []string{"watchpoint (DWTTRAP)"}},
		{FaultStatus{CFSR: 1 << 25, DFSR: 1}, []string{"division by zero (DIVBYZERO)"}},
		{FaultStatus{}, nil},
	} {
		if got := c.f.Reasons(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.f, got, c.want)
		}
	}
}

// TestNotPushed: the frame on the stack is not to be believed.
func TestNotPushed(t *testing.T) {
	for cfsr, want := range map[uint64]bool{1 << 4: true, 1 << 12: true, 1 << 20: true, 1 << 9: false, 1 << 13: false} {
		if got := (&FaultStatus{CFSR: cfsr}).NotPushed(); got != want {
			t.Errorf("CFSR %#x: %v", cfsr, got)
		}
	}
}

func TestExceptionName(t *testing.T) {
	for n, want := range map[int]string{3: "hard fault", 11: "SVCall", 13: "exception 13", 15: "SysTick", 16: "interrupt 0", 21: "interrupt 5"} {
		if got := ExceptionName(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	if n := ExceptionNumber(0x0100_0015); n != 21 {
		t.Errorf("exception %d", n)
	}
}
