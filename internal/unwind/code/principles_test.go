package code

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/unwind"
)

// exact is a query for a place at which a thread stopped, resuming one for a place at which
// a thread will go on.
func exact(img *image.Image, pc uint64, mode cpu.Mode) stackwalk.Query {
	return stackwalk.Query{Image: img, Arch: img.Arch, PC: pc, Resume: pc, Mode: mode, Exact: true}
}

func resuming(img *image.Image, pc uint64, mode cpu.Mode) stackwalk.Query {
	return stackwalk.Query{Image: img, Arch: img.Arch, PC: pc - 1, Resume: pc, Mode: mode}
}

// first is the first answer for a query, "none" where there is no answer.
func first(s *Source, q stackwalk.Query) string {
	if a := answers(s, q); len(a) > 0 {
		return a[0]
	}
	return "none"
}

// expect compares the first answers for queries of places in img with what is wanted.
func expect(t *testing.T, s *Source, img *image.Image, query func(*image.Image, uint64, cpu.Mode) stackwalk.Query, want map[uint64]string) {
	t.Helper()
	for pc, rule := range want {
		q := query(img, pc, 0)
		if got := first(s, q); got != rule {
			t.Errorf("%#x, exact %t: %s, want %s", pc, q.Exact, got, rule)
		}
	}
}

// TestFirstAnswers: what the source believes first where the code is ambiguous.
func TestFirstAnswers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		program codetest.Program
		want    map[uint64]string
	}{
		{"a call that falls into a place with another SP never returns", codetest.Program{CPU: "mips o32 big", Listing: `
		400000 <f>:
			400000: 10800005  beqz  a0,400018
			400004: 00000000  nop
			400008: 27bdffe8  addiu sp,sp,-24
			40000c: afbf0014  sw    ra,20(sp)
			400010: 0c140000  jal   500000
			400014: 00000000  nop
			400018: 03e00008  jr    ra
			40001c: 00000000  nop`},
			map[uint64]string{0x400014: "CFA=sp+24 RA=[CFA-4]", 0x400018: "CFA=sp RA=ra"}},
		{"behind k begins a function; what data points to leads there, too, and has a return that its frame contradicts", codetest.Program{
			CPU: "aarch64", Data: map[uint64][]uint64{0x410000: {0x400000}}, Listing: `
		400040 <k>:
			400000: a9be7bfd  stp x29,x30,[sp,#-32]!
			400004: f9000bf3  str x19,[sp,#16]
			400008: aa0003f3  mov x19,x0
			40000c: a8c27bfd  ldp x29,x30,[sp],#32
			400010: b4000200  cbz x0,400050
			400014: 910043ff  add sp,sp,#16
			400018: d65f03c0  ret
			40001c: d503201f  nop
			400040: d65f03c0  ret
			400044: d503201f  nop
			400048: d503201f  nop
			40004c: d503201f  nop
			400050: d2800000  mov x0,#0
			400054: d65f03c0  ret`},
			map[uint64]string{0x400050: "CFA=sp RA=x30"}},
		{"a callee removes its arguments", codetest.Program{CPU: "i386", Listing: `
		400000 <f>:
		400010 <g>:
			400000: 6a 01           push 1
			400002: 6a 02           push 2
			400004: e8 07 00 00 00  call 400010
			400009: 31 c0           xor  eax,eax
			40000b: c3              ret
			400010: c2 08 00        ret  8`},
			map[uint64]string{0x400004: "CFA=esp+12 RA=[CFA-4]", 0x40000b: "CFA=esp+4 RA=[CFA-4]"}},
		{"a jump table", codetest.Program{CPU: "mips o32 big", Data: map[uint64][]uint64{0x410000: {0x400038, 0x400040}}, Listing: `
		400000 <f>:
			400000: 27bdffe8  addiu sp,sp,-24
			400004: afbf0014  sw    ra,20(sp)
			400008: 2c820002  sltiu v0,a0,2
			40000c: 10400007  beqz  v0,40002c
			400010: 00042080  sll   a0,a0,2
			400014: 3c020041  lui   v0,0x41
			400018: 00441021  addu  v0,v0,a0
			40001c: 8c420000  lw    v0,0(v0)
			400020: 00400008  jr    v0
			400024: 00000000  nop
			40002c: 8fbf0014  lw    ra,20(sp)    default
			400030: 03e00008  jr    ra
			400034: 27bd0018  addiu sp,sp,24
			400038: 0810000b  j     40002c       case 0
			40003c: 00000000  nop
			400040: 0810000b  j     40002c       case 1
			400044: 00000000  nop`},
			map[uint64]string{0x400038: "CFA=sp+24 RA=ra", 0x400040: "CFA=sp+24 RA=ra"}},
		{"computed gotos: labels are reached from behind calls as well", codetest.Program{CPU: "mips o32 big", Listing: `
		400000 <f>:
			400000: 27bdffe8  addiu sp,sp,-24
			400004: afbf0014  sw    ra,20(sp)
			400008: 00800008  jr    a0
			40000c: 00000000  nop
			400010: 0c140000  jal   500000       a label
			400014: 00000000  nop
			400018: 00400008  jr    v0
			40001c: 00000000  nop
			400020: 8fbf0014  lw    ra,20(sp)    another
			400024: 03e00008  jr    ra
			400028: 27bd0018  addiu sp,sp,24`},
			map[uint64]string{0x400008: "CFA=sp+24 RA=ra", 0x400010: "CFA=sp+24 RA=[CFA-4]", 0x400020: "CFA=sp+24 RA=[CFA-4]", 0x400024: "CFA=sp+24 RA=ra"}},
		{"a goto through a table whose address a callee spares", codetest.Program{CPU: "mips o32 big", Data: map[uint64][]uint64{0x410000: {0x400020, 0x400034, 0x400040}}, Listing: `
		400000 <f>:
			400000: 27bdffe8  addiu sp,sp,-24
			400004: afbf0014  sw    ra,20(sp)
			400008: 3c030041  lui   v1,0x41
			40000c: 00042080  sll   a0,a0,2
			400010: 00642021  addu  a0,v1,a0
			400014: 8c820000  lw    v0,0(a0)
			400018: 00400008  jr    v0
			40001c: 00000000  nop
			400020: 0c140000  jal   500000       a label
			400024: 00000000  nop
			400028: 8c620004  lw    v0,4(v1)
			40002c: 00400008  jr    v0
			400030: 00000000  nop
			400034: 8fbf0014  lw    ra,20(sp)    another
			400038: 03e00008  jr    ra
			40003c: 27bd0018  addiu sp,sp,24
			400040: 03e00008  jr    ra           another function's end
			400044: 00000000  nop`},
			map[uint64]string{0x40001c: "CFA=sp+24 RA=ra", 0x400020: "CFA=sp+24 RA=[CFA-4]", 0x400028: "CFA=sp+24 RA=[CFA-4]", 0x400034: "CFA=sp+24 RA=[CFA-4]", 0x400038: "CFA=sp+24 RA=ra"}},
		{"what stands behind a goto's labels and returns by itself is the next function", codetest.Program{CPU: "mips o32 big", Listing: `
		400000 <f>:
			400000: 27bdffe8  addiu sp,sp,-24
			400004: afbf0014  sw    ra,20(sp)
			400008: 0c100000  jal   400000
			40000c: 00000000  nop
			400010: 00400008  jr    v0
			400014: 00000000  nop
			400018: 8fbf0014  lw    ra,20(sp)    a label
			40001c: 03e00008  jr    ra
			400020: 27bd0018  addiu sp,sp,24
			400024: 27bdffd8  addiu sp,sp,-40    another function
			400028: afbf0024  sw    ra,36(sp)
			40002c: 0c100000  jal   400000
			400030: 00000000  nop
			400034: 8fbf0024  lw    ra,36(sp)
			400038: 03e00008  jr    ra
			40003c: 27bd0028  addiu sp,sp,40`},
			map[uint64]string{0x400018: "CFA=sp+24 RA=[CFA-4]", 0x400024: "CFA=sp RA=ra", 0x400034: "CFA=sp+40 RA=[CFA-4]"}},
		{"clang outlines ends of functions: SP out of the frame pointer is the caller's stack still", codetest.Program{CPU: "aarch64", Listing: `
		400000 <end>:
			400000: 910003bf  mov sp,x29
			400004: a9434ff4  ldp x20,x19,[sp,#48]
			400008: d65f03c0  ret`},
			map[uint64]string{0x400004: "CFA=sp RA=x30 x19=[CFA+56] x20=[CFA+48]"}},
		{"a guessed beginning that gives up a preserved register is none", codetest.Program{CPU: "mips o32 big", Listing: `
		400000 <f>:
			400000: 03e00008  jr    ra
			400004: 00000000  nop
			400008: 24100005  li    s0,5
			40000c: 10000004  b     400020
			400010: 00000000  nop
			400014: 27bdffe8  addiu sp,sp,-24
			400018: afbf0014  sw    ra,20(sp)
			40001c: afb00010  sw    s0,16(sp)
			400020: 0c140000  jal   500000
			400024: 00000000  nop
			400028: 0c140000  jal   500000
			40002c: 00000000  nop
			400030: 8fb00010  lw    s0,16(sp)
			400034: 8fbf0014  lw    ra,20(sp)
			400038: 03e00008  jr    ra
			40003c: 27bd0018  addiu sp,sp,24`},
			map[uint64]string{0x400020: "CFA=sp+24 RA=[CFA-4] s0=[CFA-8]"}},
		{"behind a switch of stacks there is no caller: glibc's __longjmp for MIPS, whose second return nothing enters", codetest.Program{CPU: "mips o32 big", Listing: `
		400000 <__longjmp>:
			400000: 8c990000  lw    t9,0(a0)
			400004: 8c9d0004  lw    sp,4(a0)
			400008: 14a00005  bnez  a1,400020
			40000c: 00000000  nop
			400010: 03200008  jr    t9
			400014: 24020001  li    v0,1
			400018: 1000ffff  b     400018
			40001c: 00000000  nop
			400020: 03200008  jr    t9
			400024: 00a01025  move  v0,a1`},
			map[uint64]string{0x400004: "CFA=sp RA=ra", 0x400008: "none", 0x400010: "none", 0x400020: "none"}},
		{"a landing pad is no function, whatever points to it: no answer is better than CFA=rsp+8", codetest.Program{CPU: "x86_64", Data: map[uint64][]uint64{0x410000: {0x400010}}, Listing: `
		400000 <f>:
		400030 <resume>:
			400000: c3                    ret
			400001: 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90
			400010: f7 03 00 80 00 00     testl $0x8000,(%rbx)
			400016: 75 07                 jne   40001f
			400018: 48 8b bb 88 00 00 00  mov   0x88(%rbx),%rdi
			40001f: e8 0c 00 00 00        call  400030
			400024: 90 90 90 90 90 90 90 90 90 90 90 90
			400030: 0f 0b                 ud2`},
			map[uint64]string{0x400010: "none", 0x400018: "none", 0x40001f: "none"}},
		{"the address of a place in a function that never returns begins no function", codetest.Program{CPU: "mips o32 big", Data: map[uint64][]uint64{0x500000: {0x400000, 0x400010}}, Listing: `
			400000: 27bdffe8  addiu sp,sp,-24
			400004: afbf0014  sw    ra,20(sp)
			400008: 0c100200  jal   400800
			40000c: 00000000  nop
			400010: 00000000  nop
			400014: 0c100200  jal   400800
			400018: 00000000  nop
			40001c: 1000ffff  b     40001c
			400020: 00000000  nop`},
			map[uint64]string{0x400000: "CFA=sp RA=ra", 0x400010: "CFA=sp+24 RA=[CFA-4]", 0x400014: "CFA=sp+24 RA=[CFA-4]"}},
		{"a pool stands between two functions, of which nobody names the second", codetest.Program{CPU: "arm", Mode: 1, Listing: `
		400000 <f>:
			400000: 4b01       ldr  r3, [pc, #4]
			400002: 447b       add  r3, pc
			400004: 4770       bx   lr
			400006: bf00       nop
			400008: 00098ab0   .word; ldrh r0, [r6, #20]
			40000c: b510       push {r4, lr}
			40000e: f000 f812  bl   400036
			400012: bd10       pop  {r4, pc}`},
			map[uint64]string{0x40000e: "CFA=sp+8 RA=lr"}},
		{"right behind a call ra is where the frame stands: the return address is in the slot", codetest.Program{CPU: "mips o32 big", Listing: `
		400000 <f>:
			400000: 27bdffe8  addiu sp,sp,-24
			400004: afbf0014  sw    ra,20(sp)
			400008: 0320f809  jalr  t9
			40000c: 00000000  nop
			400010: 14400002  bnez  v0,40001c
			400014: 00000000  nop
			400018: 24420001  addiu v0,v0,1
			40001c: 8fbf0014  lw    ra,20(sp)
			400020: 03e00008  jr    ra
			400024: 27bd0018  addiu sp,sp,24`},
			map[uint64]string{0x40000c: "CFA=sp+24 RA=[CFA-4]", 0x400010: "CFA=sp+24 RA=[CFA-4]"}},
		{"clang outlines beginnings of functions: what is called by t0 makes the caller's frame", codetest.Program{CPU: "riscv64", Listing: `
		400000 <f>:
			400000: 028002ef  jal  t0,400028
			400004: 00050413  mv   s0,a0
			400008: 01813083  ld   ra,24(sp)
			40000c: 01013403  ld   s0,16(sp)
			400010: 02010113  addi sp,sp,32
			400014: 00008067  ret
			400028: fe010113  addi sp,sp,-32
			40002c: 00113c23  sd   ra,24(sp)
			400030: 00813823  sd   s0,16(sp)
			400034: 00028067  jr   t0`},
			map[uint64]string{0x40002c: "CFA=sp+32 RA=ra", 0x400034: "CFA=sp+32 RA=ra", 0x400004: "CFA=sp+32 RA=ra", 0x40000c: "CFA=sp+32 RA=ra s0=[CFA-16]"}},
		{"clang -O0 for A32: a frame at r11, its size in a pool", codetest.Program{CPU: "arm", Listing: `
		400000 <f>:
			400000: e92d4800  push {r11,lr}
			400004: e1a0b00d  mov  r11,sp
			400008: e59fc014  ldr  r12,[pc,#20]
			40000c: e04dd00c  sub  sp,sp,r12
			400010: eb0003fa  bl   401000
			400014: e50b0008  str  r0,[r11,#-8]
			400018: e1a0d00b  mov  sp,r11
			40001c: e8bd8800  pop  {r11,pc}
			400020: e320f000  nop
			400024: 00001388  .word 5000`},
			map[uint64]string{0x400010: "CFA=sp+5008 RA=lr r11=[CFA-8]", 0x400014: "CFA=sp+5008 RA=[CFA-4] r11=[CFA-8]", 0x40001c: "CFA=sp+8 RA=[CFA-4] r11=[CFA-8]"}},
	} {
		t.Run(strings.ReplaceAll(tt.name, ":", ""), func(t *testing.T) {
			s, img := New(nil), tt.program.Image(t)
			for pc, want := range tt.want {
				if got := first(s, exact(img, pc, tt.program.Mode)); got != want {
					t.Errorf("%x: %s, want %s", pc, got, want)
				}
			}
		})
	}
}

// TestPadThatCalls: code behind a function that calls and has the return address nowhere is
// entered by the runtime, with the function's frame.
func TestPadThatCalls(t *testing.T) {
	img := codetest.Program{CPU: "arm", Mode: 1, Listing: `
	400000 <f>:
		400000: b510       push {r4, lr}
		400002: f000 f814  bl   40002e
		400006: bd10       pop  {r4, pc}
		400008: 4604       mov  r4, r0
		40000a: f000 f810  bl   40002e
		40000e: 4620       mov  r0, r4
		400010: f000 f80d  bl   _Unwind_Resume`}.Image(t)
	if got := first(New(nil), resuming(img, 0x40000e, 1)); got != "CFA=sp+8 RA=[CFA-4] r4=[CFA-8]" {
		t.Errorf("behind the pad's call: %s", got)
	}
}

// TestABIFallback: where nothing else has an answer the ABI's method does, as a fallback.
func TestABIFallback(t *testing.T) {
	img := codetest.Program{CPU: "mips o32 big", Listing: `
		400000: 03e00008  jr    ra            the end of what stands before
		400004: 00000000  nop
		400008: 27bdffe8  addiu sp,sp,-24
		40000c: afbf0014  sw    ra,20(sp)
		400010: 14800002  bnez  a0,40001c
		400014: 00000000  nop
		400018: 00800008  jr    a0
		40001c: 00000000  nop
		400020: 0c140000  jal   500000
		400024: 00000000  nop
		400028: 1000ffff  b     400028
		40002c: 00000000  nop`}.Image(t)
	var r stackwalk.Rule
	q := exact(img, 0x400028, 0)
	if v := New(nil).Rule(&q, &r); v != unwind.Found || r.Format(img.Arch) != "CFA=sp+24 RA=[CFA-4]" || r.Flags != stackwalk.Fallback {
		t.Errorf("%v: %s, flags %b", v, r.Format(img.Arch), r.Flags)
	}
	if q.Try = 1; New(nil).Rule(&q, &r) != unwind.NotCovered {
		t.Error("there is an answer behind the last")
	}
}

// TestImageEntry: the code that the program starts with has no caller.
func TestImageEntry(t *testing.T) {
	img := codetest.Program{CPU: "mips o32 big", Entry: 0x400000, Listing: `
		400000: 27bdffe8  addiu sp,sp,-24
		400004: 0c140000  jal   500000
		400008: 00000000  nop
		40000c: 1000ffff  b     40000c
		400010: 00000000  nop`}.Image(t)
	var r stackwalk.Rule
	q := resuming(img, 0x40000c, 0)
	if v := New(nil).Rule(&q, &r); v != unwind.EndOfStack {
		t.Errorf("%v", v)
	}
}

// TestNotCode: places without code, without a call before them, and processors without a
// decoder have no rule.
func TestNotCode(t *testing.T) {
	img := codetest.Program{CPU: "mips o32 big", Listing: "400000: 03e00008 00000000  jr ra; nop"}.Image(t)
	s := New(nil)
	var r stackwalk.Rule
	for _, q := range []stackwalk.Query{exact(img, 0x100, 0), exact(img, 0x400008, 0), resuming(img, 0x400008, 0), resuming(img, 0, 0)} {
		if v := s.Rule(&q, &r); v != unwind.NotCovered {
			t.Errorf("%#x: %v", q.PC, v)
		}
	}
	blind := *img.Arch
	blind.Decoder = nil
	q := exact(img, 0x400000, 0)
	if q.Arch = &blind; s.Rule(&q, &r) != unwind.NotCovered {
		t.Error("there is an answer without a decoder")
	}
}
