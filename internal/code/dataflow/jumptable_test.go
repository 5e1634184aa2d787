package dataflow

import (
	"testing"

	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestJumpTable: the comparison bounds the table: the word behind it, which points into
// another function, is not followed.
func TestJumpTable(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Data: map[uint64][]uint64{0x410000: {0x400038, 0x400048, 0x400058}}, Listing: `
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
		400028: 00000000  nop
		40002c: 8fbf0014  lw    ra,20(sp)    default
		400030: 03e00008  jr    ra
		400034: 27bd0018  addiu sp,sp,24
		400038: 0c140000  jal   500000       case 0
		40003c: 00000000  nop
		400040: 0810000b  j     40002c
		400044: 00000000  nop
		400048: 0c140000  jal   500000       case 1
		40004c: 00000000  nop
		400050: 0810000b  j     40002c
		400054: 00000000  nop
		400058: 03e00008  jr    ra           another function
		40005c: 00000000  nop`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x400038: "sp-24 ra", 0x400048: "sp-24 ra", 0x40002c: "sp-24 [sp-4]", 0x400058: "not reached"})
	if !f.Complete || !f.Balanced || f.Unbalanced {
		t.Errorf("%+v", f.Facts)
	}
}

// TestElementAddedToPC: LLVM adds a table's element to the PC with the jump itself. What stands in the
// table is no code.
func TestElementAddedToPC(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "arm", Listing: `
	400000 <f>:
		400000: e92d4010  push {r4, lr}
		400004: e3500002  cmp r0, #2
		400008: 8a000007  bhi 40002c
		40000c: e28f1004  add r1, pc, #4
		400010: e7912100  ldr r2, [r1, r0, lsl #2]
		400014: e081f002  add pc, r1, r2
		400018: 00000010  to 400028
		40001c: 00000018  to 400030
		400020: 00000014  to 40002c
		400024: e320f000  nop
		400028: e28d0000  add r0, sp, #0
		40002c: e8bd8010  pop {r4, pc}
		400030: e3a00001  mov r0, #1
		400034: e8bd8010  pop {r4, pc}`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x400018: "not reached", 0x40001c: "not reached", 0x400028: "sp-8 ra", 0x400030: "sp-8 ra", 0x40002c: "sp-8 ra"})
	if !f.Complete || !f.Balanced || f.Unbalanced || f.SPDiffers {
		t.Errorf("%+v", f.Facts)
	}
}

// TestTableWithoutBound: a tag chooses the case, and nobody compares the tag: the table ends where its elements lead out of the function.
func TestTableWithoutBound(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "arm", Listing: `
	400000 <f>:
		400000: e92d4010  push {r4, lr}
		400004: e24dd008  sub sp, sp, #8
		400008: e5d83005  ldrb r3, [r8, #5]
		40000c: e28f1008  add r1, pc, #8
		400010: e7912103  ldr r2, [r1, r3, lsl #2]
		400014: e081f002  add pc, r1, r2
		400018: e320f000  nop
		40001c: 00000010  to 40002c
		400020: 00000014  to 400030
		400024: 00000018  to 400034
		400028: 00000010  to 40002c
		40002c: eb000100  bl 400434
		400030: e1a00000  nop
		400034: e28dd008  add sp, sp, #8
		400038: e8bd8010  pop {r4, pc}
	400040 <g>:
		400040: e12fff1e  bx lr`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x40001c: "not reached", 0x40002c: "sp-16 ra", 0x400030: "sp-16 [sp-4]", 0x400034: "sp-16 [sp-4]", 0x400040: "not reached"})
	if !f.Balanced || f.Unbalanced || f.SPDiffers {
		t.Errorf("%+v", f.Facts)
	}
}

// TestComparedForEquality: a comparison that decides whether the index is 1 bounds no table; a bound follows from
// a second branch on the same comparison.
func TestComparedForEquality(t *testing.T) {
	for branch, sized := range map[string]bool{"e320f000  nop": false, "8a000006  bhi 400030": true} {
		f := analysis(t, codetest.Program{CPU: "arm", Listing: `
	400000 <f>:
		400000: e92d4010  push {r4, lr}
		400004: e3500001  cmp r0, #1
		400008: 1a000000  bne 400010
		40000c: e8bd8010  pop {r4, pc}
		400010: ` + branch + `
		400014: e28f1004  add r1, pc, #4
		400018: e7912100  ldr r2, [r1, r0, lsl #2]
		40001c: e081f002  add pc, r1, r2
		400020: 00000010  to 400030
		400024: 00000014  to 400034
		400028: 00000018  to 400038
		40002c: e320f000  nop
		400030: e28d0000  add r0, sp, #0
		400034: e8bd8010  pop {r4, pc}
		400038: e3a00001  mov r0, #1
		40003c: e8bd8010  pop {r4, pc}`}).Function(at(0x400000))
		third := "sp-8 ra"
		if sized {
			third = "not reached"
		}
		check(t, f, map[uint64]string{0x400030: "sp-8 ra", 0x400034: "sp-8 ra", 0x400038: third})
		if f.Complete != sized {
			t.Errorf("%s: %+v", branch, f.Facts)
		}
	}
}

// TestIndexByAddress: the index of a table is a variable that is 0 until a function, which gets
// the variable's address, sets it: gpg's main so switches over the command that it was given.
func TestIndexByAddress(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Data: map[uint64][]uint64{0x410000: {0x400044, 0x40004c}}, Listing: `
	400000 <f>:
		400000: 27bdffe0  addiu sp,sp,-32
		400004: afbf001c  sw    ra,28(sp)
		400008: afa00014  sw    zero,20(sp)
		40000c: 0c140000  jal   500000
		400010: 27a40014  addiu a0,sp,20
		400014: 8fa40014  lw    a0,20(sp)
		400018: 2c820002  sltiu v0,a0,2
		40001c: 10400006  beqz  v0,400038
		400020: 00042080  sll   a0,a0,2
		400024: 3c020041  lui   v0,0x41
		400028: 00441021  addu  v0,v0,a0
		40002c: 8c420000  lw    v0,0(v0)
		400030: 00400008  jr    v0
		400034: 00000000  nop
		400038: 8fbf001c  lw    ra,28(sp)    default
		40003c: 03e00008  jr    ra
		400040: 27bd0020  addiu sp,sp,32
		400044: 1000fffc  b     400038       case 0
		400048: 00000000  nop
		40004c: 1000fffa  b     400038       case 1
		400050: 00000000  nop`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x400044: "sp-32 [sp-4]", 0x40004c: "sp-32 [sp-4]"})
	if !f.Complete || !f.Balanced {
		t.Errorf("%+v", f.Facts)
	}
}

// TestComputedGoto: jumps that cannot be resolved lead to what nothing else reaches, with
// the frame of the jump, and the flow is not complete. Labels are reached from behind calls
// as well, so that RA is nowhere but in its slot.
func TestComputedGoto(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
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
		400028: 27bd0018  addiu sp,sp,24`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x400008: "sp-24 ra", 0x400010: "sp-24 [sp-4]", 0x400020: "sp-24 [sp-4]", 0x400024: "sp-24 ra"})
	if f.Complete || !f.ByGuess(0x400010) || !f.ByGuess(0x400020) || f.ByGuess(0x400008) {
		t.Error("the flow of unresolved jumps is no guess")
	}
}

// TestGotoTable: the same where the first jump goes through a table and the second is not
// understood: its table's address is in a register that the callee is known to spare
// (gcc -fipa-ra).
func TestGotoTable(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Data: map[uint64][]uint64{0x410000: {0x400020, 0x400034, 0x400040}}, Listing: `
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
		400040: 03e00008  jr    ra           another function's end, where something else is read as an element
		400044: 00000000  nop`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x40001c: "sp-24 ra", 0x400020: "sp-24 [sp-4]", 0x400028: "sp-24 [sp-4]", 0x400034: "sp-24 [sp-4]", 0x400038: "sp-24 ra"})
}

// TestGotoBehindComparison: a comparison with 0 in front of a jump through a table is of something
// else, for no table has one element: in CPython for AArch64 of a flag that picks a handler.
func TestGotoBehindComparison(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "aarch64", Data: map[uint64][]uint64{0x410000: {0x400018, 0x400020}}, Listing: `
	400000 <f>:
		400000: 90000081  adrp x1,410000
		400004: 7100005f  cmp  w2,#0
		400008: 5a9f03e2  csetm w2,ne
		40000c: 92401c42  and  x2,x2,#0xff
		400010: f8627823  ldr  x3,[x1,x2,lsl #3]
		400014: d61f0060  br   x3
		400018: 52800000  mov  w0,#0
		40001c: d65f03c0  ret
		400020: 52800020  mov  w0,#1
		400024: d65f03c0  ret`}).Function(at(0x400000))
	if !f.Contains(0x400018) || !f.Contains(0x400020) || f.Complete {
		t.Errorf("both handlers are reached: %t, %t; all ways are known: %t", f.Contains(0x400018), f.Contains(0x400020), f.Complete)
	}
}

// TestPointerTable: a jump through an element of a table of functions, with the frame gone,
// is a tail call. What follows is another function, though nobody knows.
func TestPointerTable(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Data: map[uint64][]uint64{0x410000: {0x500000}}, Listing: `
	400000 <f>:
		400000: 27bdffe8  addiu sp,sp,-24
		400004: afbf0014  sw    ra,20(sp)
		400008: 0c140000  jal   500000
		40000c: 00000000  nop
		400010: 3c030041  lui   v1,0x41
		400014: 00021080  sll   v0,v0,2
		400018: 00431021  addu  v0,v0,v1
		40001c: 8c590000  lw    t9,0(v0)
		400020: 8fbf0014  lw    ra,20(sp)
		400024: 03200008  jr    t9
		400028: 27bd0018  addiu sp,sp,24
		40002c: 27bdffe8  addiu sp,sp,-24    another function
		400030: afbf0014  sw    ra,20(sp)
		400034: 0c140000  jal   500000
		400038: 00000000  nop
		40003c: 1000ffff  b     40003c
		400040: 00000000  nop`}).Function(at(0x400000))
	if f.Contains(0x40002c) || f.ContiguousEnd() != 0x40002c {
		t.Errorf("goes on to %#x", f.ContiguousEnd())
	}
	if !f.Returns || f.Complete {
		t.Errorf("%+v", f.Facts)
	}
}

// TestGotoInFront: the labels of a computed goto in the function that this one ends with a
// jump to do not lie behind this one.
func TestGotoInFront(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "arm", Mode: 1, Listing: `
	400000 <f>:
		400000: b510  push {r4, lr}
		400002: 4687  mov  pc, r0
		400004: 2101  movs r1, #1
		400006: e7fb  b.n  400000
		400008: b510  push {r4, lr}
		40000a: e7fe  b.n  40000a`})
	if f := an.Function(thumb(0x400004)); f.Contains(0x400008) {
		t.Error("the next function is a label")
	}
	if f := an.Function(thumb(0x400000)); !f.Contains(0x400004) {
		t.Error("what follows the goto is none")
	}
}

// TestJumpByWord: a PLT's first entry jumps through one word with another pushed, which
// leads to no labels.
func TestJumpByWord(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "x86_64", Listing: `
	400000 <plt>:
		400000: ff 35 02 10 00 00  push 0x1002(%rip)
		400006: ff 25 04 10 00 00  jmp  *0x1004(%rip)
		40000c: 0f 1f 40 00        nop
		400010: c3                 ret`}).Function(at(0x400000))
	if f.Contains(0x40000c) || f.Contains(0x400010) || f.Complete {
		t.Errorf("%d blocks, %+v", f.Blocks(), f.Facts)
	}
}

// TestOnlyCodeNamesEndsGaps: behind a jump to nobody knows where, the code up to the next
// function is tried, but not that function, which a resolver alone names (the string
// functions of glibc's i386 assembly jump through tables like that).
func TestOnlyCodeNamesEndsGaps(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "x86_64", Listing: `
	400000 <f>:
	400020 <resolver>:
		400000: 53                    push %rbx
		400001: ff e0                 jmp  *%rax
		400003: 5b                    pop  %rbx
		400004: c3                    ret
		400005: 66 0f 1f 44 00 00     padding
		40000b: 0f 1f 44 00 00        padding
		400010: 53                    push %rbx
		400011: eb fe                 jmp  400011
		400020: 48 8d 05 e9 ff ff ff  lea  -23(%rip),%rax
		400027: c3                    ret`}).Function(at(0x400000))
	if !f.ByGuess(0x400003) || f.ContiguousEnd() != 0x400005 {
		t.Errorf("the function ends at %#x, not in front of the one at 400010", f.ContiguousEnd())
	}
}

// TestGapEndsAtFunction: what lies behind a function with a jump to unknown places, and
// returns with everything as it was at its first instruction, is the next function, not one
// of these places.
func TestGapEndsAtFunction(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
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
		40003c: 27bd0028  addiu sp,sp,40`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x400018: "sp-24 [sp-4]", 0x400024: "not reached"})
}

// doubted is a guess of which one jump leads to where a sure one may lead as well.
const doubted = `
	400000 <f>:
		400004: 00000000  nop
		400008: 00000000  nop
		40000c: 00000000  nop
		400010: 10000003  b   400020
		400014: 00000000  nop
		400018: 00000000  nop
		40001c: 00000000  nop
		400020: 03e00008  jr  ra
		400024: 00000000  nop`

// TestDoubtIsInherited: what only a guess leads to, by however sure a jump, is a guess; what the
// function comes to by itself is explored with the function, and not with its landing pads.
func TestDoubtIsInherited(t *testing.T) {
	for _, tt := range []struct{ first, function, pads string }{
		{"400000: 10000007  b   400020", "sp+0 ra", "not reached"},
		{"400000: 03e00008  jr  ra", "not reached", "sp-24 ra"},
	} {
		an := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: tt.first + doubted})
		f := an.Function(at(0x400000))
		guess := &landingPads{owner: f, first: at(0x400010)}
		guess.st.Start(an.Arch)
		guess.st.Regs[an.Arch.SP].Off = -24
		pads := an.analyze(f.Entry, guess)
		check(t, f, map[uint64]string{0x400020: tt.function})
		check(t, pads, map[uint64]string{0x400020: tt.pads})
		if b, _ := pads.blocks.at(0x400020); b != nil && b.via != edgeGap {
			t.Errorf("%s: the shared block is %+v", tt.first, b)
		}
	}
}

// TestTableOfBytes: the index is 0 - 1 on the first way to the jump that is followed, which
// the comparison keeps away from there: the byte before the table leads to 4001ee.
func TestTableOfBytes(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "arm", Listing: `
	400000 <f>:
		400000: b510  push {r4,lr}
		400002: 2400  movs r4,#0
		400004: 3c01  subs r4,#1
		400006: 2c01  cmp  r4,#1
		400008: d806  bhi  400018
		40000a: e8df f004  tbb [pc,r4]
		40000e: 0401  .byte 1,4
		400010: 4608  mov  r0,r1          case 0
		400012: 4614  mov  r4,r2
		400014: e7f6  b    400004
		400016: bd10  pop  {r4,pc}        case 1
		400018: 4614  mov  r4,r2          default
		40001a: e7f3  b    400004
		4001ee: 4770  bx   lr`}).Function(disasm.Addr{PC: 0x400000, Mode: 1})
	check(t, f, map[uint64]string{0x4001ee: "not reached"})
	if !f.Contains(0x400010) || !f.Complete || !f.Balanced || f.Unbalanced {
		t.Errorf("%+v", f.Facts)
	}
}
