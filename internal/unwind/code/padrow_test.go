package code

import (
	"testing"

	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// padsInARow are those of a Rust function: calls that never return end in a jump to the trap that
// stands among them, pads go on in one another, and some only panic.
var padsInARow = codetest.Program{CPU: "aarch64", Listing: `
		400000 <f>:
		40004c <g>:
		400050 <never>:
		400000: a9bd7bfd  stp x29, x30, [sp, #-48]!
		400004: f9000bf3  str x19, [sp, #16]
		400008: 94000011  bl 40004c
		40000c: 34000080  cbz w0, 40001c
		400010: f9400bf3  ldr x19, [sp, #16]
		400014: a8c37bfd  ldp x29, x30, [sp], #48
		400018: d65f03c0  ret
		40001c: 9400000d  bl 400050
		400020: 14000004  b 400030          to the only trap
		400024: aa0003f3  mov x19, x0     a landing pad
		400028: 94000009  bl 40004c
		40002c: 14000006  b 400044
		400030: d4200020  brk #0x1
		400034: 94000007  bl 400050         another, which must not be left by a panic
		400038: d4200020  brk #0x1
		40003c: 910063e0  add x0, sp, #0x18   another
		400040: 94000003  bl 40004c
		400044: aa1303e0  mov x0, x19
		400048: 94000002  bl 400050         _Unwind_Resume
		40004c: d65f03c0  ret
		400050: d4200020  brk #0x1`}

// TestPadsInARow: ripgrep's functions for aarch64 have hundreds of pads. None of them is a
// function, though most use no register that the function has set.
func TestPadsInARow(t *testing.T) {
	img := padsInARow.Image(t)
	const frame, written = "CFA=sp+48 RA=[CFA-40]", "CFA=sp+48 RA=[CFA-40] x19=[CFA-32]"
	s := New(nil)
	expect(t, s, img, exact, map[uint64]string{0x400024: frame, 0x400034: frame, 0x40003c: frame, 0x400044: written})
	expect(t, s, img, resuming, map[uint64]string{0x40002c: written, 0x400038: frame, 0x400044: frame, 0x40004c: written})
}

// TestPadsEndAtPart: behind the place that code far away jumps to, the pads are that code's.
func TestPadsEndAtPart(t *testing.T) {
	for _, tt := range []struct {
		part uint64
		want int
	}{{0, 1}, {0x40003c, 0}} {
		p := New(nil).of(padsInARow.Image(t))
		at, ok := rules.PointOf(p.Code, &stackwalk.Query{PC: 0x400040, Exact: true})
		if !ok {
			t.Fatal("no code")
		}
		s := &search{prog: p, at: at, most: maxSteps}
		s.fromGaps(0x400000, tt.part, 0x400040)
		if len(s.forward) != tt.want {
			t.Errorf("part at %#x: %d rules, want %d", tt.part, len(s.forward), tt.want)
		}
	}
}

// TestPadsOfAlignedFunction: clang's pads for i386 may use nothing but the stack, as functions do. f
// calls with SP as the ABI wants it, 4 above a multiple of 16 below its entry, and the pads would
// call with SP at such a multiple. Arguments lie on the stack at each call of f; they are dropped in front
// of a branch.
func TestPadsOfAlignedFunction(t *testing.T) {
	img := codetest.Program{CPU: "i386", Listing: `
		401000 <f>:
		401060 <g>:
		401070 <never>:
		401000: 53  push %ebx
		401001: 56  push %esi
		401002: 83 ec 14  sub $0x14,%esp
		401005: 83 ec 08  sub $0x8,%esp
		401008: 50  push %eax
		401009: 51  push %ecx
		40100a: e8 51 00 00 00  call 401060
		40100f: 83 c4 10  add $0x10,%esp
		401012: 85 c0  test %eax,%eax
		401014: 74 10  je 401026
		401016: 83 ec 08  sub $0x8,%esp
		401019: 50  push %eax
		40101a: 51  push %ecx
		40101b: e8 40 00 00 00  call 401060
		401020: 83 c4 24  add $0x24,%esp
		401023: 5e  pop %esi
		401024: 5b  pop %ebx
		401025: c3  ret
		401026: 83 ec 0c  sub $0xc,%esp
		401029: 50  push %eax
		40102a: e8 41 00 00 00  call 401070
		40102f: 83 c4 10  add $0x10,%esp
		401032: 0f 0b  ud2
		401034: 89 44 24 08  mov %eax,0x8(%esp)   a landing pad
		401038: 8d 4c 24 0c  lea 0xc(%esp),%ecx
		40103c: e8 1f 00 00 00  call 401060
		401041: eb 04  jmp 401047
		401043: 89 44 24 08  mov %eax,0x8(%esp)   another
		401047: 83 ec 0c  sub $0xc,%esp
		40104a: ff 74 24 14  push 0x14(%esp)
		40104e: e8 1d 00 00 00  call 401070      _Unwind_Resume
		401060: c3  ret
		401070: 0f 0b  ud2`}.Image(t)
	const rest, pushed = "CFA=esp+32 RA=[CFA-4]", "CFA=esp+48 RA=[CFA-4]"
	s := New(nil)
	expect(t, s, img, exact, map[uint64]string{0x401034: rest, 0x40103c: rest, 0x401043: rest, 0x401047: rest, 0x40104e: pushed})
	expect(t, s, img, resuming, map[uint64]string{0x401041: rest, 0x401053: pushed})
}

// TestPadsBehindPanics: what Rust for i386 puts behind a call that never returns drops the call's
// arguments, as behind any other, where no landing pad begins so. f calls nobody that returns, and
// keeps in ebp, which is no frame pointer, where a local lies.
func TestPadsBehindPanics(t *testing.T) {
	img := codetest.Program{CPU: "i386", Listing: `
		401000 <f>:
		401060 <g>:
		401070 <panics>:
		401000: 55  push %ebp
		401001: 56  push %esi
		401002: 83 ec 14  sub $0x14,%esp
		401005: 8d 6c 24 08  lea 0x8(%esp),%ebp
		401009: 85 c0  test %eax,%eax
		40100b: 74 06  je 401013
		40100d: 83 c4 14  add $0x14,%esp
		401010: 5e  pop %esi
		401011: 5d  pop %ebp
		401012: c3  ret
		401013: 83 ec 08  sub $0x8,%esp
		401016: 50  push %eax
		401017: 51  push %ecx
		401018: e8 53 00 00 00  call 401070
		40101d: 83 c4 10  add $0x10,%esp
		401020: 0f 0b  ud2
		401022: 89 c6  mov %eax,%esi     a landing pad
		401024: 83 ec 0c  sub $0xc,%esp
		401027: 55  push %ebp
		401028: e8 33 00 00 00  call 401060
		40102d: 83 c4 10  add $0x10,%esp
		401030: 83 ec 0c  sub $0xc,%esp
		401033: 56  push %esi
		401034: e8 37 00 00 00  call 401070      _Unwind_Resume
		401039: 83 c4 10  add $0x10,%esp
		40103c: 0f 0b  ud2
		401060: c3  ret
		401070: 0f 0b  ud2`}.Image(t)
	const rest, pushed = "CFA=esp+32 RA=[CFA-4] ebp=[CFA-8] esi=[CFA-12]", "CFA=esp+48 RA=[CFA-4] ebp=[CFA-8] esi=[CFA-12]"
	const kept, keptPushed = "CFA=esp+32 RA=[CFA-4] ebp=[CFA-8]", "CFA=esp+48 RA=[CFA-4] ebp=[CFA-8]"
	s := New(nil)
	expect(t, s, img, exact, map[uint64]string{0x40101d: keptPushed, 0x401020: kept, 0x401022: kept, 0x401024: rest, 0x401028: pushed,
		0x401030: rest, 0x401039: keptPushed, 0x40103c: kept})
}

// TestPadsOfFirstCall: the only place where SP is at rest at a call is the function's first block.
func TestPadsOfFirstCall(t *testing.T) {
	img := codetest.Program{CPU: "i386", Listing: `
		401000 <f>:
		401060 <g>:
		401070 <never>:
		401000: 53  push %ebx
		401001: 57  push %edi
		401002: 56  push %esi
		401003: e8 58 00 00 00  call 401060
		401008: 83 ec 04  sub $0x4,%esp
		40100b: 6a 01  push $0x1
		40100d: 6a 02  push $0x2
		40100f: 6a 03  push $0x3
		401011: e8 4a 00 00 00  call 401060
		401016: 83 c4 10  add $0x10,%esp
		401019: 5e  pop %esi
		40101a: 5f  pop %edi
		40101b: 5b  pop %ebx
		40101c: c3  ret
		40101d: 89 c7  mov %eax,%edi     a landing pad
		40101f: 89 f1  mov %esi,%ecx
		401021: e8 3a 00 00 00  call 401060
		401026: 83 ec 0c  sub $0xc,%esp
		401029: 57  push %edi
		40102a: e8 41 00 00 00  call 401070      _Unwind_Resume
		40102f: 83 c4 10  add $0x10,%esp
		401032: 0f 0b  ud2
		401060: c3  ret
		401070: 0f 0b  ud2`}.Image(t)
	s := New(nil)
	expect(t, s, img, exact, map[uint64]string{0x40101d: "CFA=esp+16 RA=[CFA-4]", 0x40101f: "CFA=esp+16 RA=[CFA-4] edi=[CFA-12]",
		0x40102a: "CFA=esp+32 RA=[CFA-4] edi=[CFA-12]", 0x40102f: "CFA=esp+32 RA=[CFA-4]"})
}
