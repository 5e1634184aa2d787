package edges

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
)

// TestLeavesException: code that jumps to a function and has it return to a place behind no call
// leads from there to an exception return, if need be through more such code, which has names of its own; an ordinary
// function does not, nor one that jumps to another in place of its return.
func TestLeavesException(t *testing.T) {
	img := codetest.Program{CPU: "arm", Listing: `
	80400000 <ret_fast_syscall>:
		80400000: e59de010  ldr lr,[sp,#16]
		80400004: e28dd018  add sp,sp,#24
		80400008: e1b0f00e  movs pc,lr
	8040000c <function>:
		8040000c: e52de004  push {lr}
		80400010: e49df004  pop {pc}
	80400014 <ret_with_work>:
		80400014: e3110001  tst r1,#1
		80400018: 1a000002  bne 80400028
		8040001c: e59de010  ldr lr,[sp,#16]
		80400020: e28dd018  add sp,sp,#24
		80400024: e1b0f00e  movs pc,lr
	80400028 <work>:
		80400028: ebfffff7  bl 8040000c
		8040002c: eafffffa  b 8040001c
	80400030 <either>:
		80400030: e3110001  tst r1,#1
		80400034: 1afffff4  bne 8040000c
		80400038: e59de010  ldr lr,[sp,#16]
		8040003c: e28dd018  add sp,sp,#24
		80400040: e1b0f00e  movs pc,lr`}.Image(t)
	m := target.NewModule("vmlinux", img, 0x1000)
	for pc, want := range map[uint64]stackwalk.Answer{0x80401000: stackwalk.Yes, 0x80401010: stackwalk.No, 0x80401014: stackwalk.Yes,
		0x80401030: stackwalk.Unknown, 0x80500000: stackwalk.Unknown} {
		if got := New(nil).LeavesException(m, pc, 0); got != want {
			t.Errorf("%#x: %v, want %v", pc, got, want)
		}
	}
	if got := New(nil).LeavesException(nil, 0, 0); got != stackwalk.Unknown {
		t.Errorf("without a module: %v", got)
	}
}

// TestEndsThread: behind the call of glibc's clone, where coroutines return to, and nowhere else.
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
		{"musl's clone, which sets a part of the number: a trap behind the call tells", codetest.Program{CPU: "x86_64", Listing: `
			400000: 41 ff d1           call *%r9
			400003: 89 c7              mov  %eax,%edi
			400005: 31 c0              xor  %eax,%eax
			400007: b0 3c              mov  $60,%al
			400009: 0f 05              syscall
			40000b: f4                 hlt`}, 0x400003},
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
		{"__start_context: an entry, behind no call, that never returns", codetest.Program{CPU: "x86_64", Entry: 0x400010, Listing: `
			400000: 0f 1f 84 00 00 00 00 00  nopl 0(%rax,%rax)
			400008: 0f 1f 84 00 00 00 00 00  nopl 0(%rax,%rax)
			400010: 48 89 dc           mov  %rbx,%rsp
			400013: 48 8b 3c 24        mov  (%rsp),%rdi
			400017: 0f 0b              ud2`}, 0x400010},
		{"behind a return: exit, which never returns", codetest.Program{CPU: "x86_64", Entry: 0x400000, Listing: `
			400000: 48 8d 0d 09 00 00 00  lea 9(%rip),%rcx
			400007: 48 89 48 38        mov  %rcx,0x38(%rax)
			40000b: c3                 ret
			40000c: 0f 1f 40 00        nopl 0(%rax)
			400010: 31 ff              xor  %edi,%edi
			400012: 0f 0b              ud2`}, 0x400010},
		{"__start_context, in which setcontext may fail, behind another function", codetest.Program{CPU: "x86_64", Entry: 0x400000, Listing: `
			400000: c3                 ret
			400001: 90                 nop
			400002: 48 89 dc           mov  %rbx,%rsp
			400005: 48 8b 3c 24        mov  (%rsp),%rdi
			400009: c3                 ret`}, 0x400002},
		{"a function that saves the register first", codetest.Program{CPU: "x86_64", Entry: 0x400000, Listing: `
			400000: c3                 ret
			400001: 90                 nop
			400002: 53                 push %rbx
			400003: 48 89 df           mov  %rbx,%rdi
			400006: 5b                 pop  %rbx
			400007: c3                 ret`}, 0},
		{"code that other code leads to", codetest.Program{CPU: "x86_64", Entry: 0x400000, Listing: `
			400000: 31 c0              xor  %eax,%eax
			400002: 48 89 df           mov  %rbx,%rdi
			400005: c3                 ret`}, 0},
		{"i386's makecontext", codetest.Program{CPU: "i386", Entry: 0x400000, Listing: `
			400000: 89 0a              mov  %ecx,(%edx)
			400002: c3                 ret
			400003: 8d 24 9c           lea  (%esp,%ebx,4),%esp
			400006: 83 3c 24 00        cmpl $0,(%esp)
			40000a: c3                 ret`}, 0x400003},
		{"AArch64's __startcontext", codetest.Program{CPU: "aarch64", Entry: 0x400000, Listing: `
			400000: d65f03c0   ret
			400004: d503201f   nop
			400008: aa1303e0   mov x0,x19
			40000c: d65f03c0   ret`}, 0x400004},
		{"ARM's __startcontext", codetest.Program{CPU: "arm", Entry: 0x400000, Listing: `
			400000: e12fff1e   bx lr
			400004: e1b00004   movs r0,r4
			400008: e12fff1e   bx lr`}, 0x400004},
		{"RISC-V's __start_context, which calls the coroutine's function", codetest.Program{CPU: "riscv64", Entry: 0x400000, Listing: `
			400000: 852a       mv   a0,a0
			400002: 85ae       mv   a1,a1
			400004: 8082       ret
			400006: 9482       jalr s1
			400008: 854a       mv   a0,s2
			40000a: 8082       ret`}, 0x400008},
		{"a call through such a register further on", codetest.Program{CPU: "riscv64", Entry: 0x400000, Listing: `
			400000: 84aa       mv   s1,a0
			400002: 9482       jalr s1
			400004: 854a       mv   a0,s2
			400006: 8082       ret`}, 0},
		{"behind a delay slot", codetest.Program{CPU: "mips o32 big", Entry: 0x400000, Listing: `
			400000: 03e00008   jr   ra
			400004: 27bd0008   addiu sp,sp,8
			400008: 00000000   nop
			40000c: 0220e025   move gp,s1
			400010: 03e00008   jr   ra
			400014: 00000000   nop`}, 0x40000c},
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
