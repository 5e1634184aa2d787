package code

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/edges"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
)

// TestPadsOfPushingFunction: i386 pushes arguments, so that SP differs from call to call. The
// runtime enters landing pads with none of them on the stack. The pads write to esi, which
// f has saved and a function of their own would save; the second begins where the first
// ends, behind _Unwind_Resume.
func TestPadsOfPushingFunction(t *testing.T) {
	img := codetest.Program{CPU: "i386", Listing: `
		401000 <f>:
		401060 <g>:
		401070 <never>:
			401000: 53              push %ebx
			401001: 56              push %esi
			401002: 83 ec 14        sub  $0x14,%esp
			401005: 83 ec 0c        sub  $0xc,%esp
			401008: 50              push %eax
			401009: e8 52 00 00 00  call 401060
			40100e: 83 c4 10        add  $0x10,%esp
			401011: 83 ec 0c        sub  $0xc,%esp
			401014: 50              push %eax
			401015: e8 46 00 00 00  call 401060
			40101a: 83 c4 24        add  $0x24,%esp
			40101d: 5e              pop  %esi
			40101e: 5b              pop  %ebx
			40101f: c3              ret
			401020: 89 c6           mov  %eax,%esi     a landing pad
			401022: 83 ec 0c        sub  $0xc,%esp
			401025: 50              push %eax
			401026: e8 35 00 00 00  call 401060
			40102b: 83 c4 10        add  $0x10,%esp
			40102e: 83 ec 0c        sub  $0xc,%esp
			401031: 56              push %esi
			401032: e8 39 00 00 00  call 401070
			401037: 89 c6           mov  %eax,%esi     another
			401039: eb e7           jmp  401022
			401060: c3              ret
			401070: 0f 0b           ud2`}.Image(t)
	const rest, written, pushed = "CFA=esp+32 RA=[CFA-4]", "CFA=esp+32 RA=[CFA-4] esi=[CFA-12]", "CFA=esp+48 RA=[CFA-4] esi=[CFA-12]"
	expect(t, New(nil), img, exact, map[uint64]string{0x401020: rest, 0x401022: written, 0x401026: pushed, 0x401037: rest, 0x401039: written})
	expect(t, New(nil), img, resuming, map[uint64]string{0x40102b: pushed, 0x401037: pushed})
}

// TestPadBehindColdPart: GCC puts landing pads behind what it has moved away from their
// function (401000). No flow leads to them, so that f may have called from there.
func TestPadBehindColdPart(t *testing.T) {
	img := codetest.Program{CPU: "x86_64", Listing: `
		401040 <dtor>:
		401050 <never>:
		401060 <f>:
			401000: e8 4b 00 00 00     call 401050     __cxa_throw
			401005: 48 89 c3           mov  %rax,%rbx
			401008: 48 89 df           mov  %rbx,%rdi
			40100b: e8 30 00 00 00     call 401040
			401010: 48 89 df           mov  %rbx,%rdi
			401013: e8 38 00 00 00     call 401050     _Unwind_Resume
			401018: 0f 1f 00           nopl (%rax)
			401040: c3                 ret
			401050: 0f 0b              ud2
			401060: 53                 push %rbx
			401061: 48 83 ec 30        sub  $0x30,%rsp
			401065: e8 d6 ff ff ff     call 401040
			40106a: 85 c0              test %eax,%eax
			40106c: 0f 85 8e ff ff ff  jne  401000
			401072: 48 83 c4 30        add  $0x30,%rsp
			401076: 5b                 pop  %rbx
			401077: c3                 ret`}.Image(t)
	const frame = "CFA=rsp+64 RA=[CFA-8] rbx=[CFA-16]"
	s := New(nil)
	expect(t, s, img, resuming, map[uint64]string{0x401010: frame, 0x401018: frame})
	for _, pc := range []uint64{0x401010, 0x401018} {
		if a, _, _ := edges.New(nil).Reaches(alone(img), 0x401060, 0, pc); a != stackwalk.Unknown {
			t.Errorf("f comes to %#x: %v", pc, a)
		}
	}
}

// TestPadBehindPartJumpedTo: the jump to the part at 401000 comes with f's frame undone, so that the pad behind the part
// has the part's frame. MSVC's mainCRTStartup ends so in a jump to __scrt_common_main_seh, which ends with an
// __except block.
func TestPadBehindPartJumpedTo(t *testing.T) {
	img := codetest.Program{CPU: "x86_64", Listing: `
		401040 <leaf>:
		401050 <never>:
		401060 <f>:
			401000: 53                 push %rbx
			401001: 48 83 ec 30        sub  $0x30,%rsp
			401005: e8 36 00 00 00     call 401040
			40100a: 48 83 c4 30        add  $0x30,%rsp
			40100e: 5b                 pop  %rbx
			40100f: c3                 ret
			401010: 89 c3              mov  %eax,%ebx
			401012: 89 c7              mov  %eax,%edi
			401014: e8 37 00 00 00     call 401050
			401040: c3                 ret
			401050: 0f 0b              ud2
			401060: 48 83 ec 28        sub  $0x28,%rsp
			401064: e8 d7 ff ff ff     call 401040
			401069: 48 83 c4 28        add  $0x28,%rsp
			40106d: eb 91              jmp  401000`}.Image(t)
	const frame = "CFA=rsp+64 RA=[CFA-8] rbx=[CFA-16]"
	expect(t, New(nil), img, exact, map[uint64]string{0x401010: "CFA=rsp+64 RA=[CFA-8]", 0x401012: frame, 0x401014: frame})
	expect(t, New(nil), img, resuming, map[uint64]string{0x401019: frame})
}

// alone is a snapshot of nothing but a program where it was linked.
func alone(img *image.Image) *target.Snapshot {
	var b target.Builder
	lo, hi := img.Segments.Bounds()
	return &target.Snapshot{Arch: img.Arch, Memory: b.Memory(img.Arch), Modules: []*target.Module{{Name: "app", Image: img, Range: target.Range{Lo: lo, Hi: hi}}}}
}

// TestPadsBehindJumpedTo: code far away jumps to g, a function by itself. What f throws into ends in front
// of g, and the pad behind g is g's. So lie the destructors of libstdc++ for aarch64.
func TestPadsBehindJumpedTo(t *testing.T) {
	p := New(nil).of(codetest.Program{CPU: "aarch64", Listing: `
		400000 <f>:
		400050 <leaf>:
		400054 <never>:
		400000: a9bd7bfd  stp x29, x30, [sp, #-48]!
		400004: f9000bf3  str x19, [sp, #16]
		400008: 94000012  bl 400050
		40000c: f9400bf3  ldr x19, [sp, #16]
		400010: a8c37bfd  ldp x29, x30, [sp], #48
		400014: d65f03c0  ret
		400018: aa0003f3  mov x19, x0     a landing pad
		40001c: 9400000d  bl 400050
		400020: aa1303e0  mov x0, x19
		400024: 9400000c  bl 400054
		400028: a9bd7bfd  stp x29, x30, [sp, #-48]!
		40002c: f9000bf3  str x19, [sp, #16]
		400030: 94000008  bl 400050
		400034: f9400bf3  ldr x19, [sp, #16]
		400038: a8c37bfd  ldp x29, x30, [sp], #48
		40003c: d65f03c0  ret
		400040: aa0003f3  mov x19, x0     another
		400044: 94000003  bl 400050
		400048: aa1303e0  mov x0, x19
		40004c: 94000002  bl 400054
		400050: d65f03c0  ret
		400054: d4200020  brk #0x1`}.Image(t))
	at, ok := rules.PointOf(p.Code, &stackwalk.Query{PC: 0x400044, Exact: true})
	if !ok {
		t.Fatal("no code")
	}
	s := &search{prog: p, at: at, most: maxSteps}
	s.fromGaps(0x400000, 0x400028, 0x400044)
	if len(s.forward) == 0 || s.forward[0].Rule.Format(p.Arch) != "CFA=sp+48 RA=[CFA-40] x19=[CFA-32]" {
		t.Errorf("%d rules", len(s.forward))
	}
}

// TestPadsThatResume: pads that use nothing of their function, and call what landing pads alone call.
// So ends std::ctype<char>::classic_table() for aarch64.
func TestPadsThatResume(t *testing.T) {
	img := codetest.Program{CPU: "aarch64", Listing: `
		400000 <f>:
		400030 <g>:
		400034 <__cxa_call_unexpected>:
		400038 <_Unwind_Resume>:
		400000: a9bf7bfd  stp x29, x30, [sp, #-16]!
		400004: 910003fd  mov x29, sp
		400008: 9400000a  bl 400030
		40000c: f9403400  ldr x0, [x0, #104]
		400010: a8c17bfd  ldp x29, x30, [sp], #16
		400014: d65f03c0  ret
		400018: b100043f  cmn x1, #0x1
		40001c: 54000040  b.eq 400024
		400020: 94000005  bl 400034
		400024: 94000005  bl 400038
		400030: d65f03c0  ret
		400034: d4200020  brk #0x1
		400038: d4200020  brk #0x1`}.Image(t)
	const frame = "CFA=sp+16 RA=[CFA-8] x29=[CFA-16]"
	expect(t, New(nil), img, exact, map[uint64]string{0x400018: frame, 0x400020: frame, 0x400024: frame})
}
