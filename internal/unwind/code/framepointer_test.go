package code_test

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/unwind"
)

// TestMovingSP: where paths meet that differ in SP, the CFA comes from the frame pointer
// that the function leaves by. Here alloca(64) runs on one of two paths; in dash's
// readtoken1 alloca(64) runs in a loop.
func TestMovingSP(t *testing.T) {
	img := codetest.Program{CPU: "x86_64", Listing: `
		400000 <f>:
		400000: 55              push  %rbp
		400001: 48 89 e5        mov   %rsp,%rbp
		400004: 48 83 ec 10     sub   $16,%rsp
		400008: 85 ff           test  %edi,%edi
		40000a: 74 09           je    400015
		40000c: 48 83 ec 40     sub   $64,%rsp
		400010: e8 1b 00 00 00  call  400030 <g>
		400015: 31 c0           xor   %eax,%eax
		400017: c9              leave
		400018: c3              ret
		400030 <g>:
		400030: c3              ret`}.Image(t)
	for pc, want := range map[uint64]string{
		0x400008: "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16]",
		0x400015: "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16]",
		0x400018: "CFA=rsp+8 RA=[CFA-8]",
	} {
		q := stackwalk.Query{Image: img, Arch: img.Arch, PC: pc, Resume: pc, Exact: true}
		var r stackwalk.Rule
		if v := code.New(nil).Rule(&q, &r); v != unwind.Found || r.Format(img.Arch) != want {
			t.Errorf("%x: %v, %s, want %s", pc, v, r.Format(img.Arch), want)
		}
	}
}

// TestConditionalAlloca: instructions make room under the condition on which the branch behind them is not taken, so that SP is not
// known there. So clang for ARM makes arrays of run-time size with -fsanitize=undefined, which traps where the size is negative.
func TestConditionalAlloca(t *testing.T) {
	img := codetest.Program{CPU: "arm", Listing: `
		400000 <f>:
		400000: e92d4810  push  {r4, fp, lr}
		400004: e1a04000  mov   r4, r0
		400008: e28db004  add   fp, sp, #4
		40000c: e3510000  cmp   r1, #0
		400010: c3c12007  bicgt r2, r1, #7
		400014: c04d4002  subgt r4, sp, r2
		400018: c1a0d004  movgt sp, r4
		40001c: da000002  ble   40002c
		400020: eb000002  bl    400030 <g>
		400024: e24bd004  sub   sp, fp, #4
		400028: e8bd8810  pop   {r4, fp, pc}
		40002c: e7ffdefe  udf   #65006
		400030 <g>:
		400030: e12fff1e  bx    lr`}.Image(t)
	const want = "CFA=r11+8 RA=[CFA-4] r4=[CFA-12] r11=[CFA-8]"
	q := stackwalk.Query{Image: img, Arch: img.Arch, PC: 0x400020, Resume: 0x400024}
	var r stackwalk.Rule
	if v := code.New(nil).Rule(&q, &r); v != unwind.Found || r.Format(img.Arch) != want {
		t.Errorf("behind the call: %v, %s, want %s", v, r.Format(img.Arch), want)
	}
}

// TestHookRuns: while a profiler's hook runs (-pg), which the dynamic linker finds, the word lies on the stack that the function
// pushed for the hook; behind that the word is gone.
func TestHookRuns(t *testing.T) {
	img := codetest.Program{CPU: "arm", Imports: map[uint64]string{0x401030: "__gnu_mcount_nc"}, Listing: `
		400000 <f>:
		400000: e92d4010  push {r4, lr}
		400004: e24dd008  sub  sp, sp, #8
		400008: e52de004  push {lr}
		40000c: eb000003  bl   400020
		400010: eb000005  bl   40002c <g>
		400014: e28dd008  add  sp, sp, #8
		400018: e8bd8010  pop  {r4, pc}
		400020: e28fc000  add  ip, pc, #0
		400024: e28cca01  add  ip, ip, #4096
		400028: e5bcf008  ldr  pc, [ip, #8]!
		40002c <g>:
		40002c: e12fff1e  bx   lr`}.Image(t)
	for back, want := range map[uint64]string{0x400010: "CFA=sp+20 RA=[CFA-4] r4=[CFA-8]", 0x400014: "CFA=sp+16 RA=[CFA-4] r4=[CFA-8]"} {
		q := stackwalk.Query{Image: img, Arch: img.Arch, PC: back - 4, Resume: back}
		var r stackwalk.Rule
		if v := code.New(nil).Rule(&q, &r); v != unwind.Found || r.Format(img.Arch) != want {
			t.Errorf("%x: %v, %s, want %s", back, v, r.Format(img.Arch), want)
		}
	}
}

// TestSavedSP: a frame that is aligned by more than SP keeps the old SP in a slot of its
// own, as i386's ciphers by hand do (Camellia_cbc_encrypt). No register leads to the CFA;
// the way out does.
func TestSavedSP(t *testing.T) {
	img := codetest.Program{CPU: "i386", Listing: `
		1000 <f>:
		1000: 53              push  %ebx
		1001: 9c              pushf
		1002: 8d 74 24 c0     lea   -0x40(%esp),%esi
		1006: 83 e6 c0        and   $-64,%esi
		1009: 87 f4           xchg  %esi,%esp
		100b: 89 74 24 14     mov   %esi,0x14(%esp)
		100f: 31 db           xor   %ebx,%ebx
		1011: 8b 64 24 14     mov   0x14(%esp),%esp
		1015: 9d              popf
		1016: 5b              pop   %ebx
		1017: c3              ret`}.Image(t)
	for pc, want := range map[uint64]string{
		0x1002: "CFA=esp+12 RA=[CFA-4]",
		0x100f: "CFA=[esp+20]+12 RA=[CFA-4] ebx=undefined",
	} {
		q := stackwalk.Query{Image: img, Arch: img.Arch, PC: pc, Resume: pc, Exact: true}
		var r stackwalk.Rule
		if v := code.New(nil).Rule(&q, &r); v != unwind.Found || r.Format(img.Arch) != want {
			t.Errorf("%x: %v, %s, want %s", pc, v, r.Format(img.Arch), want)
		}
	}
}
