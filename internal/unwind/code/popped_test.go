package code

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestPoppedReturnAddress: OCaml's caml_c_call takes the return address from the stack and lowers SP over the address again,
// before it jumps to C. In between the address lies below SP. Where the code returns instead, to what else was pushed, or another
// word was put in the address' place, no function begins at the entry.
func TestPoppedReturnAddress(t *testing.T) {
	img := codetest.Program{CPU: "x86_64", Listing: `
		1040 <restores>:
		1080 <overwrites>:
		1100 <caml_c_call>:
			1040: 5b  pop  %rbx
			1041: 90  nop
			1042: c3  ret
			1080: 5b  pop  %rbx
			1081: 48 89 44 24 f8  mov  %rax,-0x8(%rsp)
			1086: 48 83 ec 08  sub  $0x8,%rsp
			108a: ff e0  jmp  *%rax
			1100: 41 8f 86 d8 00 00 00  pop  0xd8(%r14)
			1107: 49 89 a6 d0 00 00 00  mov  %rsp,0xd0(%r14)
			110e: 48 83 ec 08  sub  $0x8,%rsp
			1112: ff e0  jmp  *%rax`}.Image(t)
	for _, c := range []struct {
		pc   uint64
		want bool
	}{{0x1107, true}, {0x110e, true}, {0x1041, false}, {0x1086, false}} {
		got := answers(New(nil), exact(img, c.pc, 0))
		const popped = "CFA=rsp RA=[CFA-8]"
		if slices.Contains(got, popped) != c.want || c.want && got[0] != popped {
			t.Errorf("%#x: %q; %s wanted: %t", c.pc, got, popped, c.want)
		}
	}
}

// TestPoppedIntoRegister: where the code has popped the return address into a register and will return through that, or push it again,
// the register has the caller. So clang returns with -mlvi-cfi, and so the C library's vfork keeps the address while the child, which
// has the same stack, overwrites the word.
func TestPoppedIntoRegister(t *testing.T) {
	img := codetest.Program{CPU: "x86_64", Listing: `
		1000 <f>:
		1040 <vfork>:
			1000: 53  push %rbx
			1001: 85 ff  test %edi,%edi
			1003: 74 05  je 100a
			1005: e8 16 00 00 00  call 1020
			100a: 5b  pop %rbx
			100b: 59  pop %rcx
			100c: 0f ae e8  lfence
			100f: ff e1  jmp *%rcx
			1020: 59  pop %rcx
			1021: 0f ae e8  lfence
			1024: ff e1  jmp *%rcx
			1040: 5f  pop %rdi
			1041: b8 3a 00 00 00  mov $0x3a,%eax
			1046: 0f 05  syscall
			1048: 57  push %rdi
			1049: c3  ret`}.Image(t)
	expect(t, New(nil), img, exact, map[uint64]string{
		0x1005: "CFA=rsp+16 RA=[CFA-8]",
		0x100b: "CFA=rsp+8 RA=[CFA-8]",
		0x100c: "CFA=rsp RA=rcx",
		0x100f: "CFA=rsp RA=rcx",
		0x1048: "CFA=rsp RA=rdi",
		0x1049: "CFA=rsp+8 RA=[CFA-8]",
	})
}

// TestPoppedWithArgument: GCC returns for i386 by pop and a thunk where the function pops the address of a structure (-mfunction-return=thunk).
// The frame begins above the word that the call pushed, as behind ret $4.
func TestPoppedWithArgument(t *testing.T) {
	img := codetest.Program{CPU: "i386", Listing: `
		1000 <f>:
			1000: 53  push %ebx
			1001: 8b 5c 24 08  mov 0x8(%esp),%ebx
			1005: 89 1b  mov %ebx,(%ebx)
			1007: 5b  pop %ebx
			1008: 59  pop %ecx
			1009: 83 c4 04  add $0x4,%esp
			100c: eb 12  jmp 1020
			1020: e8 07 00 00 00  call 102c
			1025: f3 90  pause
			1027: 0f ae e8  lfence
			102a: eb f9  jmp 1025
			102c: 89 0c 24  mov %ecx,(%esp)
			102f: c3  ret`}.Image(t)
	expect(t, New(nil), img, exact, map[uint64]string{
		0x1000: "CFA=esp+4 RA=[CFA-4]",
		0x1005: "CFA=esp+8 RA=[CFA-4] ebx=[CFA-8]",
		0x1009: "CFA=esp RA=ecx",
		0x100c: "CFA=esp-4 RA=ecx",
	})
}
