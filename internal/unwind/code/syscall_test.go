package code

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// TestBehindSyscall: in raise, behind the system call that sends the signal, and nowhere
// else.
func TestBehindSyscall(t *testing.T) {
	for _, c := range []struct {
		name   string
		img    *image.Image
		behind uint64
	}{
		// li a0,1; li v0,4237; syscall; bnez a3,.+8; nop; jr ra; nop
		{"mips", program(arch(t, "mips", "o32", true), words(0x24040001, 0x2402108d, 0x0000000c, 0x14e00001, nop, jrRA, nop), nil, text), text + 12},
		// mov $234,%eax; syscall; cmp $-4096,%rax; ret
		{"x86", program(arch(t, "x86_64", "", false), []byte("\xb8\xea\x00\x00\x00\x0f\x05\x48\x3d\x00\xf0\xff\xff\xc3"), nil, text), text + 7},
	} {
		m := &target.Module{Image: c.img, Bias: 0x7000_0000}
		lo, hi := c.img.Bounds()
		for pc := lo; pc < hi; pc++ {
			if got := New(nil).BehindSyscall(m, pc+m.Bias, 0); got != (pc == c.behind) {
				t.Errorf("%s: %#x is behind a system call: %v", c.name, pc, got)
			}
		}
	}
	if New(nil).BehindSyscall(nil, text, 0) || New(nil).BehindSyscall(&target.Module{}, text, 0) {
		t.Error("without code")
	}
}
