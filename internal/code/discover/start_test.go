package discover

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestHandedOn: main's address as crt1.o, and musl's, hand it on: in a register, built or loaded
// from a literal, through a jump near by; by the second function.
func TestHandedOn(t *testing.T) {
	for _, tt := range []struct {
		what    string
		program codetest.Program
		want    []uint64
	}{
		{"x86-64, position-independent", codetest.Program{CPU: "x86_64", Entry: 0x1000, Listing: `
			1000: 31 ed                 xor  %ebp,%ebp
			1002: 5e                    pop  %rsi
			1003: 48 8d 3d 16 00 00 00  lea  0x16(%rip),%rdi
			100a: ff 15 f0 1f 00 00     call *0x1ff0(%rip)
			1010: f4                    hlt
			1020: c3                    ret`}, []uint64{0x1020}},
		{"AArch64: main is far away", codetest.Program{CPU: "aarch64", Entry: 0x1000, Listing: `
			1000: d280001d  mov  x29,#0
			1004: f94003e1  ldr  x1,[sp]
			1008: 90000000  adrp x0,1000
			100c: 91006000  add  x0,x0,#0x18
			1010: 94000004  bl   1020
			1014: d503201f  nop
			1018: 14000004  b    1028
			1020: d65f03c0  ret
			1028: d65f03c0  ret`}, []uint64{0x1018, 0x1028}},
		{"Thumb: through a literal", codetest.Program{CPU: "arm", Mode: 1, Entry: 0x400001, Listing: `
			400000: 4801       ldr r0,[pc,#4]
			400002: f000 f805  bl  400010
			400006: bf00       nop
			400008: 0021 0040
			400010: 4770       bx  lr
			400020: 4770       bx  lr`}, []uint64{0x400021}},
		{"MIPS: in the delay slot", codetest.Program{CPU: "mips o32 big", Entry: 0x400000, Listing: `
			400000: 3c040040  lui   a0,0x40
			400004: 0c100008  jal   400020
			400008: 24840010  addiu a0,a0,16
			400010: 03e00008  jr    ra
			400020: 03e00008  jr    ra`}, []uint64{0x400010}},
		{"musl: _start calls _start_c, which hands main on", codetest.Program{CPU: "x86_64", Entry: 0x1000, Listing: `
			1000: 48 89 e7              mov  %rsp,%rdi
			1003: e8 08 00 00 00        call 1010
			1010: 48 8d 3d 19 00 00 00  lea  0x19(%rip),%rdi
			1017: e9 14 00 00 00        jmp  1030
			1030: e8 0b 00 00 00        call 1040
			1040: c3                    ret`}, []uint64{0x1030}},
		{"musl for MIPS: words behind a call tell where _start_c is", codetest.Program{CPU: "mips o32 big", Entry: 0x400000, Listing: `
			400000: 04110003  bal   400010
			400004: 0000f025  move  s8,zero
			400008: 00000028
			400010: 8ff90000  lw    t9,0(ra)
			400014: 033fc821  addu  t9,t9,ra
			400018: 0320f809  jalr  t9
			40001c: 27bdfff0  addiu sp,sp,-16
			400030: 27240020  addiu a0,t9,32
			400034: 0c100012  jal   400048
			400038: 00000000  nop
			400048: 03e00008  jr    ra
			400050: 03e00008  jr    ra`}, []uint64{0x400050}},
		{"nothing: an address that no code stands at", codetest.Program{CPU: "x86_64", Entry: 0x1000, Listing: `
			1000: bf 00 00 10 00        mov  $0x100000,%edi
			1005: ff 15 f0 1f 00 00     call *0x1ff0(%rip)`}, nil},
	} {
		e := entries(t, tt.program)
		if got := e.HandedOn(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %#x, want %#x", tt.what, got, tt.want)
		}
		for _, key := range tt.want {
			if !e.IsEntry(e.code.Addr(key)) {
				t.Errorf("%s: no certain entry at %#x", tt.what, key)
			}
		}
	}
}
