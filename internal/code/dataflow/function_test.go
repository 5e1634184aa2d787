package dataflow

import (
	"testing"

	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestProbedFrame: the size of a large frame is in the register that the function which touches
// the frame's pages leaves alone, though any other callee may change it.
func TestProbedFrame(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "x86_64", Listing: `
	1000 <f>:
		1000: 55                    push %rbp
		1001: b8 f8 aa 00 00        mov  $0xaaf8,%eax
		1006: e8 15 00 00 00        call 1020
		100b: 48 29 c4              sub  %rax,%rsp
		100e: 90                    nop
		100f: 48 81 c4 f8 aa 00 00  add  $0xaaf8,%rsp
		1016: 5d                    pop  %rbp
		1017: c3                    ret
	1020 <__rust_probestack>:
		1020: c3                    ret`}).Function(at(0x1000))
	check(t, f, map[uint64]string{0x100b: "sp-8", 0x100e: "sp-43776", 0x1017: "sp+0"})
	if !f.Complete || !f.Balanced {
		t.Errorf("%+v", f.Facts)
	}
}

// TestConflict: control that falls through a call comes to a place where SP is known to be
// different. That path does not exist: the call never returns. The rest of the function is
// judged without it.
func TestConflict(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <f>:
		400000: 10800005  beqz  a0,400018
		400004: 00000000  nop
		400008: 27bdffe8  addiu sp,sp,-24
		40000c: afbf0014  sw    ra,20(sp)
		400010: 0c140000  jal   500000       somebody outside, in truth abort
		400014: 00000000  nop
		400018: 03e00008  jr    ra           reached with SP as on entry
		40001c: 00000000  nop`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x400010: "sp-24 ra", 0x400014: "sp-24 [sp-4]", 0x400018: "sp+0 ra"})
	if f.Doubts(0x400018) {
		t.Error("the call is taken to return")
	}
	if !f.Complete || !f.Balanced || f.Unbalanced {
		t.Errorf("%+v", f.Facts)
	}
}

// TestConditionalMove: a branch stands right behind a conditional move, which has a condition of its own. Both
// ways are followed, each behind the branch's delay slot.
func TestConditionalMove(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <f>:
		400000: 00a6100a  movz  v0,a1,a2
		400004: 14800003  bnez  a0,400014
		400008: 27bdffe8  addiu sp,sp,-24
		40000c: 03e00008  jr    ra
		400010: 27bd0018  addiu sp,sp,24
		400014: 03e00008  jr    ra
		400018: 27bd0018  addiu sp,sp,24`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x400004: "sp+0 ra", 0x40000c: "sp-24 ra", 0x400014: "sp-24 ra"})
	if !f.Complete || !f.Balanced || f.Unbalanced {
		t.Errorf("%+v", f.Facts)
	}
}

// TestConflictBehindFiller: filler stands between the call that never returns and the place where
// SP is different, as GCC for i386 aligns the targets of branches. i386's malloc calls
// __libc_message so, with the arguments still pushed.
func TestConflictBehindFiller(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "i386", Listing: `
	400000 <f>:
		400000: 83 ec 0c        sub  $12,%esp
		400003: 85 c0           test %eax,%eax
		400005: 74 09           je   400010
		400007: 6a 01           push $1
		400009: e8 f2 ff 0f 00  call 500000      somebody outside, in truth abort
		40000e: 66 90           xchg %ax,%ax
		400010: e8 eb 0f 00 00  call 401000      somebody who returns
		400015: 83 c4 0c        add  $12,%esp
		400018: c3              ret`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x400009: "sp-16", 0x40000e: "sp-16", 0x400010: "sp-12", 0x400018: "sp+0"})
	if !f.Complete || !f.Balanced || f.Unbalanced {
		t.Errorf("%+v", f.Facts)
	}
}

// TestReturnsWithArguments: control that falls through a call comes to a return with an argument still pushed,
// before another path tells where SP is there. That call never returns, not the one that reads the PC,
// behind which SP was at the same place.
func TestReturnsWithArguments(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "i386", Listing: `
	400000 <f>:
	400100 <__x86.get_pc_thunk.bx>:
		400000: 53              push %ebx
		400001: e8 fa 00 00 00  call 400100
		400006: 83 ec 0c        sub  $12,%esp
		400009: 85 c0           test %eax,%eax
		40000b: 74 13           je   400020
		40000d: 6a 01           push $1
		40000f: e8 ec ff 0f 00  call 500000      somebody outside, in truth abort
		400014: 83 c4 0c        add  $12,%esp
		400017: 5b              pop  %ebx
		400018: c3              ret
		400020: e8 db 0f 00 00  call 401000      somebody who returns
		400025: e8 d6 0f 00 00  call 401000
		40002a: eb e8           jmp  400014
		400100: 8b 1c 24        mov  (%esp),%ebx
		400103: c3              ret`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x400006: "sp-4", 0x40000f: "sp-20", 0x400014: "sp-16", 0x400018: "sp+0"})
	if !f.Complete || !f.Balanced || f.Unbalanced {
		t.Errorf("%+v", f.Facts)
	}
}

// TestRunsIntoNext: f's last call never returns, which nothing tells but the function that begins behind
// the filler. Nor does a jump within that function count as one of f (rsync's sum_init, and verify_digest
// behind it).
func TestRunsIntoNext(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "x86_64", Listing: `
	401000 <f>:
	401010 <g>:
		401000: 53              push %rbx
		401001: ff d6           call *%rsi         in truth abort
		401003: 0f 1f 44 00 00  nopl 0(%rax,%rax)
		401008: 0f 1f 44 00 00  nopl 0(%rax,%rax)
		40100d: 0f 1f 00        nopl (%rax)
		401010: 53              push %rbx
		401011: eb 01           jmp  401014
		401013: 90              nop
		401014: ff d7           call *%rdi         for ever
		401016: eb fc           jmp  401014`}).Function(at(0x401000))
	if f.Contains(0x401010) || f.Contains(0x401014) || f.JumpsTo(0x401014) || !f.Complete {
		t.Errorf("f runs on: %+v", f.Facts)
	}
}

// TestJumpWithoutFrame: f undoes its frame and jumps to g, which nothing else names; a jump to the place
// behind its own return is none to another function.
func TestJumpWithoutFrame(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "aarch64", Listing: `
	401000 <f>:
		400000: 52800020  mov  w0,#1           g
		400004: d65f03c0  ret
		401000: a9bf7bfd  stp  x29,x30,[sp,#-16]!
		401004: 340000a0  cbz  w0,401018
		401008: a8c17bfd  ldp  x29,x30,[sp],#16
		40100c: 17fffbfd  b    400000
		401010: 52800000  mov  w0,#0
		401014: d65f03c0  ret
		401018: a8c17bfd  ldp  x29,x30,[sp],#16
		40101c: 17fffffd  b    401010`}).Function(at(0x401000))
	for pc, want := range map[uint64]bool{0x400000: true, 0x400004: true, 0x401010: false, 0x401008: false, 0x402000: false} {
		if got := MayHaveLeft(f, pc); got != want || !f.Contains(pc) && pc != 0x402000 {
			t.Errorf("%#x may be another function's: %t", pc, got)
		}
	}
}

// TestTailThroughStub: the jump that ends a function leads to a PLT stub which nobody calls. That is
// a tail call, and no part of the function.
func TestTailThroughStub(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "aarch64", Imports: map[uint64]string{0x412008: "malloc"}, Listing: `
	401000 <f>:
		400000: 90000090  adrp x16,410000
		400004: f9500611  ldr  x17,[x16,#8200]
		400008: 91402210  add  x16,x16,#0x8,lsl #12
		40000c: d61f0220  br   x17
		401000: b4000040  cbz  x0,401008
		401004: 17fffbff  b    400000
		401008: d65f03c0  ret`}).Function(at(0x401000))
	if len(f.Tails) != 1 || f.Tails[0] != at(0x400000) || f.Contains(0x400000) || !f.Complete {
		t.Errorf("jumps to %x, %+v", f.Tails, f.Facts)
	}
}

// TestPops: x86 functions that remove their arguments, seen through the caller.
func TestPops(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "i386", Listing: `
	400000 <f>:
	400010 <g>:
		400000: 6a 01           push 1
		400002: 6a 02           push 2
		400004: e8 07 00 00 00  call 400010
		400009: 31 c0           xor  eax,eax
		40000b: c3              ret
		400010: c2 08 00        ret  8`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x400004: "sp-8", 0x400009: "sp+0", 0x40000b: "sp+0"})
	if !f.Balanced || f.Unbalanced {
		t.Errorf("%+v", f.Facts)
	}
}

// TestStubNeedsCaller: i386's position-independent stubs jump through ebx, which the caller
// sets to the GOT's address: nothing follows the call of abort's.
func TestStubNeedsCaller(t *testing.T) {
	for name, never := range map[string]bool{"abort": true, "malloc": false} {
		f := analysis(t, codetest.Program{CPU: "i386", Imports: map[uint64]string{0x4010: name}, Listing: `
		1000: 53                 push %ebx
		1001: e8 1a 00 00 00     call 1020
		1006: 81 c3 fa 2f 00 00  add  $0x2ffa,%ebx
		100c: 83 ec 08           sub  $8,%esp
		100f: e8 2c 00 00 00     call 1040
		1014: 83 c4 08           add  $8,%esp
		1017: 5b                 pop  %ebx
		1018: c3                 ret
		1020: 8b 1c 24           mov  (%esp),%ebx
		1023: c3                 ret
		1040: ff a3 10 00 00 00  jmp  *16(%ebx)`}).Function(at(0x1000))
		if f.Contains(0x1014) == never {
			t.Errorf("goes on behind the call of %s: %t", name, !never)
		}
	}
}

// TestPaddedLabel: padding in front of a jump's target is no end of the function.
func TestPaddedLabel(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <f>:
		400000: 10800005  beqz a0,400018
		400004: 00000000  nop
		400008: 03e00008  jr   ra
		40000c: 00000000  nop
		400010: 00000000  padding
		400014: 00000000  padding
		400018: 24020001  li   v0,1
		40001c: 03e00008  jr   ra
		400020: 00000000  nop`}).Function(at(0x400000))
	if end := f.ContiguousEnd(); end != 0x400024 {
		t.Errorf("the function ends at %#x", end)
	}
}

// TestFacts: what is concluded of whole functions.
func TestFacts(t *testing.T) {
	for _, tt := range []struct {
		name, cpu, listing string
		want               Facts
	}{
		{"a leaf", "mips o32 big", "1000: 03e00008 00000000  jr ra; nop", Facts{Complete: true, Returns: true, Balanced: true}},
		{"an endless loop", "x86_64", "1000: eb fe", Facts{Complete: true}},
		{"a frame is left behind", "x86_64", "1000: 50 c3  push %rax; ret", Facts{Returns: true, Unbalanced: true}},
		{"a landing pad", "x86_64", "1000: 48 8b 7b 08 eb fe  mov 8(%rbx),%rdi; jmp .", Facts{Complete: true, ReadsPreserved: true, LandingPad: true}},
		{"saves the return address", "aarch64", "1000: a9be7bfd a8c27bfd d65f03c0  stp x29,x30,[sp,#-32]!; ldp x29,x30,[sp],#32; ret",
			Facts{Complete: true, Returns: true, Balanced: true, SavesRA: true}},
		{"_start clears the return address", "mips o32 big", "1000: 0000f825 1000ffff 00000000  move ra,zero; b .; nop", Facts{Complete: true, ClearsRA: true}},
		{"the code ends", "x86_64", "1000: 90", Facts{}},
	} {
		f := analysis(t, codetest.Program{CPU: tt.cpu, Listing: tt.listing}).Function(at(0x1000))
		if f.Facts != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, f.Facts, tt.want)
		}
	}
}

// TestStates: states before instructions, in delay slots, and behind calls.
func TestStates(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <f>:
		400000: 27bdffe8  addiu sp,sp,-24
		400004: afbf0014  sw    ra,20(sp)
		400008: 0c140000  jal   500000
		40000c: 24100005  li    s0,5
		400010: 8fbf0014  lw    ra,20(sp)
		400014: 03e00008  jr    ra
		400018: 27bd0018  addiu sp,sp,24`}).Function(at(0x400000))
	check(t, f, map[uint64]string{
		0x3ffffc: "not reached",
		0x400000: "sp+0 ra",
		0x400008: "sp-24 ra",
		0x40000c: "sp-24 [sp-4]", // the call has written RA
		0x400014: "sp-24 ra",
		0x400018: "sp-24 ra",
		0x40001c: "not reached",
	})
	var st absint.State
	if !f.StateAfterCall(at(0x400008), &st) || returnAddress(&st, f.an.Arch) != " [sp-4]" {
		t.Error("behind the call the return address is not in its slot")
	}
	if s0, _ := f.an.Arch.RegByName("s0"); st.Regs[s0] != absint.Const(5) {
		t.Errorf("the delay slot did not run: s0 is %+v", st.Regs[s0])
	}
	if f.StateAfterCall(at(0x400004), &st) || f.StateAfterCall(at(0x400001), &st) || f.StateAt(thumb(0x400000), &st) {
		t.Error("there is no call, no instruction, no such mode")
	}
}

// TestTails: jumps to other functions with the frame undone, and calls through registers.
func TestTails(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "x86_64", Listing: `
	1000 <f>:
	1020 <g>:
		1000: 53                    push %rbx
		1001: 48 8d 05 18 00 00 00  lea  0x18(%rip),%rax
		1008: ff d0                 call *%rax
		100a: 5b                    pop  %rbx
		100b: eb 13                 jmp  1020
		1020: c3                    ret`})
	f := an.Function(at(0x1000))
	if len(f.Tails) != 1 || f.Tails[0] != at(0x1020) || !f.Returns || !f.Balanced || f.Contains(0x1020) {
		t.Errorf("tail calls go to %x; %+v", f.Tails, f.Facts)
	}
	if to, ok := f.CallTarget(0x1008); !ok || to != at(0x1020) {
		t.Errorf("the call goes to %x", to)
	}
	if !f.JumpsTo(0x1020) || f.JumpsTo(0x1008) {
		t.Error("the functions that f jumps to")
	}
	if again := an.Function(at(0x1000)); again != f {
		t.Error("the analysis was forgotten")
	}
}

// TestNoPadSavesRA: a function that saves the return address (400020) is no landing pad of the one before, though behind a call that
// never comes back it reads s0, which other ways set: those by a jump table that was not read.
func TestNoPadSavesRA(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <f>:
		400000: 27bdffd0  addiu sp,sp,-48
		400004: afbf002c  sw    ra,44(sp)
		400008: 0320f809  jalr  t9
		40000c: 00000000  nop
		400010: 8fbf002c  lw    ra,44(sp)
		400014: 03e00008  jr    ra
		400018: 27bd0030  addiu sp,sp,48
		400020: 27bdffe0  addiu sp,sp,-32
		400024: afbf001c  sw    ra,28(sp)
		400028: 0320f809  jalr  t9
		40002c: 00000000  nop
		400030: 02002021  move  a0,s0           also behind f, as a landing pad
		400034: 8fbf001c  lw    ra,28(sp)
		400038: 03e00008  jr    ra
		40003c: 27bd0020  addiu sp,sp,32`})
	owner := an.Function(at(0x400000))
	if g := an.Function(at(0x400020)); !g.ReadsPreserved || g.IsLandingPadOf(owner) {
		t.Errorf("reads s0: %t, is a landing pad: %t", g.ReadsPreserved, g.IsLandingPadOf(owner))
	}
	if !an.Function(at(0x400030)).IsLandingPadOf(owner) {
		t.Error("400030 is no landing pad")
	}
}
