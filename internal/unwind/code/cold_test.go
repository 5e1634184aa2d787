package code

import (
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestColdPartOfPad: GCC leaves of a landing pad two instructions in the function (f+0x19) and
// moves the rest into the cold part, where a destructor and _Unwind_Resume are called in the
// function's frame. The part would make a call with the stack as on entry, so that no
// function begins there, and no flow from f comes there.
func TestColdPartOfPad(t *testing.T) {
	p := codetest.Program{CPU: "x86_64", Listing: `
		401040 <dtor>:
		401050 <never>:
		401060 <f>:
			401000: 48 89 df        mov  %rbx,%rdi
			401003: e8 38 00 00 00  call 401040
			401008: 48 89 df        mov  %rbx,%rdi
			40100b: e8 40 00 00 00  call 401050
			401010: 0f 1f 00        nopl (%rax)
			401040: c3              ret
			401050: 0f 0b           ud2
			401060: 53              push %rbx
			401061: 48 83 ec 30     sub  $0x30,%rsp
			401065: e8 d6 ff ff ff  call 401040
			40106a: 85 c0           test %eax,%eax
			40106c: 75 06           jne  401074
			40106e: 48 83 c4 30     add  $0x30,%rsp
			401072: 5b              pop  %rbx
			401073: c3              ret
			401074: e8 d7 ff ff ff  call 401050
			401079: 48 89 c3        mov  %rax,%rbx
			40107c: e9 7f ff ff ff  jmp  401000`}
	img := p.Image(t)
	const frame = "CFA=rsp+64 RA=[CFA-8] rbx=[CFA-16]"
	expect(t, New(nil), img, resuming, map[uint64]string{0x401008: frame, 0x401010: frame})
}

// TestColdPartOfPointed: a function that only data points to goes to its cold part (1000) over other functions, many of which
// nothing names. The part begins with a push, as a function could.
func TestColdPartOfPointed(t *testing.T) {
	img := codetest.Program{CPU: "i386", Data: map[uint64][]uint64{0x3000: {0x1200}}, Listing: `
		1020 <g>:
		1030 <never>:
			1000: 8b 5c 24 14           mov  0x14(%esp),%ebx
			1004: 53                    push %ebx
			1005: e8 26 00 00 00        call 1030
			1020: c3                    ret
			1030: eb fe                 jmp  1030
			1040:` + strings.Repeat(" c3 90", 2*maxFunctions) + `
			1200: 53                    push %ebx
			1201: 83 ec 18              sub  $0x18,%esp
			1204: e8 17 fe ff ff        call 1020
			1209: 85 c0                 test %eax,%eax
			120b: 0f 84 ef fd ff ff     je   1000
			1211: 83 c4 18              add  $0x18,%esp
			1214: 5b                    pop  %ebx
			1215: c3                    ret`}.Image(t)
	expect(t, New(nil), img, exact, map[uint64]string{
		0x1000: "CFA=esp+32 RA=[CFA-4]",
		0x1005: "CFA=esp+36 RA=[CFA-4] ebx=[CFA-8]",
	})
}

// TestColdPartsInARow: GCC puts the parts of many functions side by side. What f throws from
// (401000) ends in a call that never returns, and landing pads follow: of g (401005), whose own
// pad jumps there from behind a return.
func TestColdPartsInARow(t *testing.T) {
	img := codetest.Program{CPU: "x86_64", Listing: `
		401040 <dtor>:
		401050 <never>:
		401060 <f>:
		401080 <g>:
			401000: e8 4b 00 00 00     call 401050
			401005: 48 89 df           mov  %rbx,%rdi
			401008: e8 33 00 00 00     call 401040
			40100d: 48 89 ef           mov  %rbp,%rdi
			401010: e8 3b 00 00 00     call 401050
			401015: 0f 1f 00           nopl (%rax)
			401040: c3                 ret
			401050: 0f 0b              ud2
			401060: 53                 push %rbx
			401061: 48 83 ec 30        sub  $0x30,%rsp
			401065: e8 d6 ff ff ff     call 401040
			40106a: 85 c0              test %eax,%eax
			40106c: 0f 85 8e ff ff ff  jne  401000
			401072: 48 83 c4 30        add  $0x30,%rsp
			401076: 5b                 pop  %rbx
			401077: c3                 ret
			401080: 55                 push %rbp
			401081: 53                 push %rbx
			401082: 48 83 ec 18        sub  $0x18,%rsp
			401086: e8 b5 ff ff ff     call 401040
			40108b: 48 83 c4 18        add  $0x18,%rsp
			40108f: 5b                 pop  %rbx
			401090: 5d                 pop  %rbp
			401091: c3                 ret
			401092: 48 89 c5           mov  %rax,%rbp
			401095: e9 6b ff ff ff     jmp  401005`}.Image(t)
	const f, g = "CFA=rsp+64 RA=[CFA-8]", "CFA=rsp+48 RA=[CFA-8] rbp=[CFA-16]"
	expect(t, New(nil), img, exact, map[uint64]string{0x401000: f})
	expect(t, New(nil), img, resuming, map[uint64]string{0x40100d: g, 0x401015: g})
}

// TestColdPartsOfOneMode: a Thumb function jumps over another to the part in front. A32 code
// is not looked for in that part, but right behind, where a veneer would have gone on in A32.
func TestColdPartsOfOneMode(t *testing.T) {
	img := codetest.Program{CPU: "arm", Mode: 1, Listing: `
		401000: bf00         nop
		401002: f000 b87d    b.w 401100
		401006: bf00         nop
		401008: e12fff1e     bx  lr          A32
		401048: e12fff1e     bx  lr          A32
		401080 <f>:
		401080: 4770         bx  lr
		4010f0 <g>:
		4010f0: b510         push {r4,lr}
		4010f2: f7ff bf85    b.w 401000
		401100: bd10         pop {r4,pc}`}.Image(t)
	for _, c := range []struct {
		at   uint64
		mode cpu.Mode
		want bool
	}{{0x401006, 1, true}, {0x401008, 0, true}, {0x401048, 0, false}} {
		q := exact(img, c.at, c.mode)
		e := New(nil).Explain(&q)
		tried := slices.ContainsFunc(e.Forward, func(d Forward) bool { return d.Origin == fromCold.String() })
		if tried != c.want {
			t.Errorf("%#x in mode %d: jumps followed: %t", c.at, c.mode, tried)
		}
	}
}

// TestFlowOfAMode: what lies in a function's flow and reads as a jump in the other mode is none.
func TestFlowOfAMode(t *testing.T) {
	img := codetest.Program{CPU: "arm", Listing: `
		401000: e92d4010  push {r4, lr}
		401004: e5983000  ldr r3, [r8]
		401008: e8bd8010  pop {r4, pc}`}.Image(t)
	p := New(nil).of(img)
	tried := []attempt{{fn: p.Flows.Function(disasm.Addr{PC: 0x401000})}}
	for mode, want := range []bool{true, false} {
		if got := flowsThrough(tried, disasm.Addr{PC: 0x401004, Mode: cpu.Mode(mode)}); got != want {
			t.Errorf("mode %d: %t", mode, got)
		}
	}
}
