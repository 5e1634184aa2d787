package edges

import (
	"testing"

	"github.com/backsight/backsight/internal/code/codetest"
	"github.com/backsight/backsight/target"
)

// TestEndsThread: behind the call of glibc's clone, and nowhere else.
func TestEndsThread(t *testing.T) {
	for _, tt := range []struct {
		what    string
		program codetest.Program
		ends    uint64
	}{
		{"exit(60)", codetest.Program{CPU: "x86_64", Listing: `
			400000: ff d0              call *%rax
			400002: 48 89 c7           mov  %rax,%rdi
			400005: b8 3c 00 00 00     mov  $60,%eax
			40000a: 0f 05              syscall
			40000c: c3                 ret`}, 0x400002},
		{"read(0): the function goes on", codetest.Program{CPU: "x86_64", Listing: `
			400000: ff d0              call *%rax
			400002: 48 89 c7           mov  %rax,%rdi
			400005: b8 00 00 00 00     mov  $0,%eax
			40000a: 0f 05              syscall
			40000c: c3                 ret`}, 0},
		{"a condition: exit is not all that the function does", codetest.Program{CPU: "x86_64", Listing: `
			400000: ff d0              call *%rax
			400002: 74 08              je   40000c
			400004: 90                 nop
			400005: b8 3c 00 00 00     mov  $60,%eax
			40000a: 0f 05              syscall
			40000c: c3                 ret`}, 0},
		{"the kernel's entry by the thread control block", codetest.Program{CPU: "i386", Listing: `
			400000: ff d3              call *%ebx
			400002: 89 c3              mov  %eax,%ebx
			400004: b8 01 00 00 00     mov  $1,%eax
			400009: 65 ff 15 10 00 00 00  call *%gs:0x10`}, 0x400002},
		{"the GOT pointer is loaded first", codetest.Program{CPU: "mips o32 big", Listing: `
			400000: 0320f809  jalr  t9
			400004: 8fa40004  lw    a0,4(sp)
			400008: 8fbc001c  lw    gp,28(sp)
			40000c: 00402025  move  a0,v0
			400010: 24020fa1  li    v0,4001
			400014: 0000000c  syscall`}, 0x400008},
		{"Thumb", codetest.Program{CPU: "arm", Mode: 1, Listing: `
			400000: 47e0       blx ip
			400002: f04f 0701  mov.w r7,#1
			400006: df00       svc 0`}, 0x400002},
		{"AArch64", codetest.Program{CPU: "aarch64", Listing: `
			400000: d63f0140  blr x10
			400004: d2800ba8  mov x8,#93
			400008: d4000001  svc #0`}, 0x400004},
	} {
		img := tt.program.Image(t)
		m := &target.Module{Image: img, Bias: 0x7000_0000}
		for _, pc := range []uint64{tt.ends, 0x400000, 0x400002} {
			if got := New(nil).EndsThread(m, pc+m.Bias, tt.program.Mode); pc != 0 && got != (pc == tt.ends) {
				t.Errorf("%s: at %#x the thread ends: %v", tt.what, pc, got)
			}
		}
	}
	if New(nil).EndsThread(nil, 0x400000, 0) || New(nil).EndsThread(&target.Module{}, 0x400000, 0) {
		t.Error("without code")
	}
}
