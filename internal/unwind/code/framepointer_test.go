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
