package callee

import (
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestNeverReturns: what ends in an endless loop, or in a call of such a function, does not
// return; recursion and unknown code are given the benefit of the doubt.
func TestNeverReturns(t *testing.T) {
	f := effects(t, codetest.Program{CPU: "mips o32 big", Listing: `
		400000: 1000ffff  b     400000          die
		400004: 00000000  nop
		400010: 27bdffe8  addiu sp,sp,-24       wrapper of die
		400014: afbf0014  sw    ra,20(sp)
		400018: 0c100000  jal   400000
		40001c: 00000000  nop
		400020: 8fbf0014  lw    ra,20(sp)       the way back is not reached
		400024: 03e00008  jr    ra
		400028: 27bd0018  addiu sp,sp,24
		400030: 10800003  beqz  a0,400040       dies on one of two paths
		400034: 00000000  nop
		400038: 0c100000  jal   400000
		40003c: 00000000  nop
		400040: 03e00008  jr    ra
		400044: 00000000  nop
		400060: 0c100018  jal   400060          calls itself
		400064: 00000000  nop
		400068: 03e00008  jr    ra
		40006c: 00000000  nop
		400070: 42000018  eret                  goes back to what an exception interrupted`})
	for to, never := range map[uint64]bool{0x400000: true, 0x400010: true, 0x400030: false, 0x400060: false, 0x400070: true, 0x500000: false} {
		if got := f.NeverReturns(at(to)); got != never {
			t.Errorf("%#x never returns: %v", to, got)
		}
	}
}

// TestNamedFunction: a function of the image itself never returns when its name says so,
// whatever its code does.
func TestNamedFunction(t *testing.T) {
	for name, never := range map[string]bool{"abort": true, "err": false, "f": false} {
		f := effects(t, codetest.Program{CPU: "x86_64", Listing: "1000 <" + name + ">:\n 1000: 90 c3"})
		if f.NeverReturns(at(0x1001)) {
			t.Errorf("%s does not begin at 1001", name)
		}
		if got := f.NeverReturns(at(0x1000)); got != never {
			t.Errorf("%s never returns: %t", name, got)
		}
	}
}

// TestOtherStack: a function that goes to another stack does not go back to its caller from
// there: SP out of memory, or out of a register that nobody preserves. A function that
// realigned its stack does, whose return address lies in front of what the register
// points to, and one that comes back to one of several copies of SP.
func TestOtherStack(t *testing.T) {
	f := effects(t, codetest.Program{CPU: "i386", Listing: `
		400000: 8d 4c 24 04  lea  4(%esp),%ecx
		400004: 83 e4 e0     and  $-32,%esp
		400007: ff 71 fc     push -4(%ecx)
		40000a: 51           push %ecx
		40000b: 59           pop  %ecx
		40000c: 8d 61 fc     lea  -4(%ecx),%esp
		40000f: c3           ret
		400010: 89 cc        mov  %ecx,%esp
		400012: c3           ret
		400020: 8b 60 10     mov  16(%eax),%esp
		400023: c3           ret
		400030: 8b 60 10     mov  16(%eax),%esp
		400033: ff e2        jmp  *%edx
		400040: 89 e2        mov  %esp,%edx        GnuTLS's padlock_sha1_oneshot
		400042: 83 c4 80     add  $-128,%esp
		400045: 89 e7        mov  %esp,%edi
		400047: f3 0f a6 c8  rep  xsha1
		40004b: 89 d4        mov  %edx,%esp
		40004d: c3           ret
		400050: 55           push %ebp
		400051: 89 e5        mov  %esp,%ebp
		400053: 89 65 f8     mov  %esp,-8(%ebp)    a block with variables of its own
		400056: 8d 44 24 04  lea  4(%esp),%eax
		40005a: 8b 65 f8     mov  -8(%ebp),%esp
		40005d: 5d           pop  %ebp
		40005e: c3           ret`})
	for to, never := range map[uint64]bool{0x400000: false, 0x400010: true, 0x400020: true, 0x400030: true, 0x400040: false, 0x400050: false} {
		if got := f.NeverReturns(at(to)); got != never {
			t.Errorf("%#x never returns: %v", to, got)
		}
	}
}

// TestConditionalCall: behind a call that may not happen the function goes on.
func TestConditionalCall(t *testing.T) {
	f := effects(t, codetest.Program{CPU: "arm", Listing: `
		400000: e3500000  cmp  r0,#0
		400004: 1b000000  blne 40000c
		400008: e12fff1e  bx   lr
		40000c: eafffffe  b    40000c`})
	if f.NeverReturns(at(0x400000)) || !f.NeverReturns(at(0x40000c)) {
		t.Error("a function does not return because it may call one that does not")
	}
}

// TestRetpoline: a call of a thunk that overwrites its return address is a jump to nobody
// knows where, from which somebody else may return.
func TestRetpoline(t *testing.T) {
	f := effects(t, codetest.Program{CPU: "x86_64", Listing: `
		1000: e8 0b 00 00 00  call 1010
		1005: eb fe           jmp  1005
		1010: 48 89 04 24     mov  %rax,(%rsp)
		1014: c3              ret`})
	if f.NeverReturns(at(0x1000)) {
		t.Error("a function that jumps through a retpoline does not return")
	}
}

// TestEffects: what calls of small functions leave to the caller.
func TestEffects(t *testing.T) {
	f := effects(t, codetest.Program{CPU: "i386", Listing: `
		1000: c2 08 00        ret $8
		1010: 8b 1c 24        mov (%esp),%ebx
		1013: c3              ret
		1020: 90              nop
		1021: eb fe           jmp 1021
		1030: 83 f8 0f        cmp $15,%eax         a switch, one case of which returns
		1033: 77 02           ja  1037
		1035: ff e3           jmp *%ebx
		1037: c2 04 00        ret $4
		1040: 85 c0           test %eax,%eax       a jump nobody follows, and an endless loop
		1042: 74 02           je  1046
		1044: ff e3           jmp *%ebx
		1046: eb fe           jmp 1046
		1050: 83 ec 0c        sub $12,%esp         all ways lead through a jump within
		1053: ff e3           jmp *%ebx
		1055: 83 c4 0c        add $12,%esp
		1058: c2 04 00        ret $4
		1060: 53              push %ebx            a tail call, and the next function
		1061: 5b              pop %ebx
		1062: ff e0           jmp *%eax
		1064: c2 04 00        ret $4
		1070: 53              push %ebx            arguments are dropped before a jump within
		1071: 83 ec 04        sub $4,%esp
		1074: 50              push %eax
		1075: e8 86 ff ff ff  call 1000            which pops 8 more
		107a: 83 ec 08        sub $8,%esp
		107d: 83 c4 08        add $8,%esp
		1080: ff e0           jmp *%eax
		1082: 5b              pop %ebx
		1083: c2 04 00        ret $4
		1090: 83 ec 04        sub $4,%esp          a tail call behind a call that pops 8
		1093: 50              push %eax
		1094: e8 67 ff ff ff  call 1000
		1099: ff e0           jmp *%eax
		109b: c2 04 00        ret $4
		10a0: 56              push %esi            a jump within, by the PC that a call pushed
		10a1: e8 00 00 00 00  call 10a6
		10a6: 5a              pop %edx
		10a7: ff e2           jmp *%edx
		10a9: 5e              pop %esi
		10aa: c2 04 00        ret $4`})
	ebx, _ := f.code.Arch.RegByName("ebx")
	for to, want := range map[uint64]Effect{
		0x1000: {Returns: true, Pops: 8, PC: cpu.NoReg},
		0x1010: {Returns: true, PC: ebx},
		0x1020: {PC: cpu.NoReg},
		0x1030: {Returns: true, Pops: 4, PC: cpu.NoReg},
		0x1040: {Returns: true, Guess: true, PC: cpu.NoReg},
		0x1050: {Returns: true, Pops: 4, PC: cpu.NoReg},
		0x1060: {Returns: true, Guess: true, PC: cpu.NoReg},
		0x1070: {Returns: true, Pops: 4, PC: cpu.NoReg},
		0x1090: {Returns: true, Guess: true, PC: cpu.NoReg},
		0x10a0: {Returns: true, Pops: 4, PC: cpu.NoReg},
	} {
		if e, ok := f.Find(at(to)); ok {
			t.Errorf("%#x is known before anybody asks: %+v", to, e)
		}
		if got := f.Of(at(to)); got != want {
			t.Errorf("%#x: %+v, want %+v", to, got, want)
		}
		if e, ok := f.Find(at(to)); !ok || e != want {
			t.Errorf("%#x is forgotten: %+v", to, e)
		}
	}
}

// TestClobbers: a PC thunk changes one register, another callee all that it may.
func TestClobbers(t *testing.T) {
	callerSaved := cpu.SetOf(0, 1, 2)
	if got := (&Effect{PC: 3}).Clobbers(callerSaved); got != cpu.SetOf(3) {
		t.Errorf("a PC thunk changes %b", got)
	}
	if got := (&Effect{PC: cpu.NoReg}).Clobbers(callerSaved); got != callerSaved {
		t.Errorf("a function changes %b", got)
	}
}

// TestProvenReturn: a return that stack heights have proven outweighs a search, but not a
// name.
func TestProvenReturn(t *testing.T) {
	img := codetest.Program{CPU: "i386", Listing: `
	1010 <abort>:
		1000: eb fe  jmp 1000
		1010: eb fe  jmp 1010`}.Image(t)
	proven := func(disasm.Addr) (Effect, bool) { return Effect{Returns: true, Pops: 4, PC: cpu.NoReg}, true }
	f := New(disasm.Of(img), proven)
	if e := f.Of(at(0x1000)); !e.Returns || e.Pops != 4 {
		t.Errorf("%+v, not what was proven", e)
	}
	if e := f.Of(at(0x1010)); e.Returns {
		t.Errorf("abort: %+v", e)
	}
	if e := f.Fork(nil).Of(at(0x1000)); e.Returns {
		t.Errorf("a fork knows what was proven elsewhere: %+v", e)
	}
}

// chain is functions at 0x10000, 0x10010 and so on, each of which calls the next and then
// returns; the last one loops.
func chain(t *testing.T, n int) *Effects {
	var code strings.Builder
	for i := range n {
		fmt.Fprintf(&code, "%x: e8 0b 00 00 00 c3\n", 0x10000+16*i) // call; ret
	}
	fmt.Fprintf(&code, "%x: eb fe\n", 0x10000+16*n)
	return effects(t, codetest.Program{CPU: "x86_64", Listing: code.String()})
}

// TestOrderOfQuestions: what is remembered of one function does not change what is found
// of another. Of a chain of calls that ends in a loop, the functions that the loop is not
// too deep for never return, whichever are asked about first.
func TestOrderOfQuestions(t *testing.T) {
	const n = 8
	up, down := chain(t, n), chain(t, n)
	for i := range n + 1 {
		up.NeverReturns(at(0x10000 + 16*uint64(i)))
		down.NeverReturns(at(0x10000 + 16*uint64(n-i)))
	}
	for i := range n + 1 {
		to := at(0x10000 + 16*uint64(i))
		if a, b := up.Of(to), down.Of(to); a != b || a.Returns != (n-i >= maxDepth) {
			t.Errorf("%#x: %+v, and %+v where the callees were asked about first", to.PC, a, b)
		}
	}
}

// TestLongSearch: a function of more instructions than a search looks at is taken to
// return.
func TestLongSearch(t *testing.T) {
	for n, never := range map[int]bool{maxSteps / 2: true, maxSteps * 2: false} {
		f := effects(t, codetest.Program{CPU: "x86_64", Listing: "1000: " + strings.Repeat("90 ", n) + "eb fe"})
		if got := f.NeverReturns(at(0x1000)); got != never {
			t.Errorf("%d instructions before an endless loop: never returns: %t", n, got)
		}
	}
}

// TestLongFunctionPops: the first return by address tells what a function pops that is too
// long to be searched, as ninja's LoadStatus::Load, which returns a structure.
func TestLongFunctionPops(t *testing.T) {
	long := strings.Repeat("90 ", 2*maxSteps)
	for name, want := range map[string]int64{"c2 04 00": 4, "c3 c2 04 00": 0, "eb fe": 0} {
		f := effects(t, codetest.Program{CPU: "i386", Listing: "1000: " + long + name})
		if got := f.Of(at(0x1000)); !got.Returns || got.Pops != want {
			t.Errorf("behind %d instructions %s: %+v, want %d bytes popped", 2*maxSteps, name, got, want)
		}
	}
}

// TestImportPops: std::current_exception returns a structure and pops the pointer to it. The
// caller, which keeps room for arguments, takes the room back; a sub in front of pushes
// aligns the stack for these, and behind a call in the program its code tells.
func TestImportPops(t *testing.T) {
	const stub = "8049030: ff 25 00 c0 04 08 68 00 00 00 00 e9 e0 ff ff ff\n8049040: c3\n"
	for _, tt := range []struct {
		name string
		to   uint64
		code string
		want int64
	}{
		{"taken back", 0x8049030, "83 ec 04 8b 7c 24 30 e8 10 00 00 00", 4},
		{"room for more", 0x8049030, "83 ec 0c 8b 7c 24 30 e8 10 00 00 00", 0},
		{"in front of pushes", 0x8049030, "83 ec 04 50 51 52 e8 10 00 00 00", 0},
		{"dropped", 0x8049030, "83 c4 10 8b 7c 24 30 e8 10 00 00 00", 0},
		{"behind a function of the program", 0x8049040, "83 ec 04 8b 7c 24 30 e8 10 00 00 00", 0},
	} {
		f := effects(t, codetest.Program{CPU: "i386", Listing: stub + "8049100: " + tt.code, Imports: map[uint64]string{0x804c000: "f"}})
		if got := f.Behind(at(tt.to), 0x8049100).Pops; got != tt.want {
			t.Errorf("%s: %d bytes are popped, want %d", tt.name, got, tt.want)
		}
	}
}
