package discover

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestCarriedConstant: the address of a function is built from a register that was set
// before a branch, as MIPS16 code reads the GOT through a copy of gp in s0.
func TestCarriedConstant(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <f>:
		400000: 24020040  li    v0,0x40
		400004: 00028400  sll   s0,v0,16
		400008: 14800003  bnez  a0,400018
		40000c: 00000000  nop
		400010: 03e00008  jr    ra
		400014: 00000000  nop
		400018: 26190024  addiu t9,s0,36
		40001c: 03200008  jr    t9
		400020: 00000000  nop
		400024: 03e00008  jr    ra
		400028: 00000000  nop`})
	if !e.candidate(at(0x400024)) {
		t.Errorf("400024 is not among %#x", e.candidates().entries)
	}
}

// TestCarriedGOT: GCC for i386 keeps the address of the GOT in edx in a function that calls nobody, and builds the address of another
// one behind a branch.
func TestCarriedGOT(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "i386", Listing: `
	400000 <f>:
		400000: e8 2b 00 00 00     call 400030
		400005: 81 c2 fb 0f 00 00  add  $0xffb,%edx
		40000b: 85 c0              test %eax,%eax
		40000d: 74 03              je   400012
		40000f: ff e0              jmp  *%eax
		400012: 8d 82 40 f0 ff ff  lea  -0xfc0(%edx),%eax
		400018: ff e0              jmp  *%eax
		400030: 8b 14 24           mov  (%esp),%edx
		400033: c3                 ret
		400040: c3                 ret`})
	if !e.candidate(at(0x400040)) {
		t.Errorf("400040 is not among %#x", e.candidates().entries)
	}
}

// TestBuiltAddresses: how each processor builds the address of a function.
func TestBuiltAddresses(t *testing.T) {
	for name, p := range map[string]codetest.Program{
		"lui, addiu": {CPU: "mips o32 big", Listing: `
			400000 <f>:
			400000: 3c040040  lui   a0,0x40
			400004: 24840020  addiu a0,a0,32
			400008: 03e00008  jr    ra
			40000c: 00000000  nop
			400020: 03e00008  jr    ra
			400024: 00000000  nop`},
		"lui, call, addiu": {CPU: "mips o32 big", Listing: `
			400000 <f>:
			400000: 3c100040  lui   s0,0x40
			400004: 0c10000c  jal   400030
			400008: 00000000  nop
			40000c: 26040020  addiu a0,s0,32
			400010: 03e00008  jr    ra
			400014: 00000000  nop
			400020: 03e00008  jr    ra
			400024: 00000000  nop
			400030: 03e00008  jr    ra
			400034: 00000000  nop`},
		"adrp, add": {CPU: "aarch64", Listing: `
			400000 <f>:
			400000: 90000000  adrp x0,400000
			400004: 91008000  add  x0,x0,#0x20
			400008: d65f03c0  ret
			400020: d65f03c0  ret`},
		"movw, movt": {CPU: "arm", Listing: `
			400000 <f>:
			400000: e3000020  movw r0,#0x20
			400004: e3400040  movt r0,#0x40
			400008: e12fff1e  bx   lr
			400020: e12fff1e  bx   lr`},
		"lea": {CPU: "x86_64", Listing: `
			400000 <f>:
			400000: 48 8d 05 19 00 00 00  lea 0x19(%rip),%rax
			400007: c3                    ret
			400020: c3                    ret`},
		// Position-independent code of i386 builds addresses on the GOT's, which it
		// reads the PC for.
		"PC thunk": {CPU: "i386", Listing: `
			400000 <f>:
			400000: e8 0b 00 00 00     call 400010
			400005: 05 00 10 00 00     add  $0x1000,%eax
			40000a: 8d 90 1b f0 ff ff  lea  -0xfe5(%eax),%edx
			400010: 8b 04 24           mov  (%esp),%eax
			400013: c3                 ret
			400020: 89 f8 c3`},
		// An indirect function's resolver, which only data names, holds the only constant
		// that names the function (glibc's strcpy, which a static program's IRELATIVE
		// relocations lead to).
		"lea in a resolver": {CPU: "x86_64", Data: map[uint64][]uint64{0x41_0000: {0x400010}}, Listing: `
			400000 <f>:
			400000: c3                    ret
			400010: 48 8d 05 09 00 00 00  lea 9(%rip),%rax
			400017: c3                    ret
			400020: 89 f8 c3`},
	} {
		e := entries(t, p)
		if !e.candidate(at(0x400020)) || !e.AddressTaken(at(0x400020)) {
			t.Errorf("%s: 400020 is not among %#x", name, e.candidates().entries)
		}
		if !e.OnlyCodeNames(at(0x400020)) {
			t.Errorf("%s: data points to 400020", name)
		}
		if len(p.Data) > 0 && e.OnlyCodeNames(at(0x400010)) {
			t.Errorf("%s: no data points to the resolver", name)
		}
	}
}

// TestOffsetIsNoPointer: a literal to which the code adds the PC is none, though it looks
// like an address of the text; one that is passed on is one.
func TestOffsetIsNoPointer(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "arm", Mode: 1, Listing: `
	400000 <f>:
		400000: 4802       ldr r0, [pc, #8]
		400002: 4478       add r0, pc
		400004: 4902       ldr r1, [pc, #8]
		400006: f000 f810  bl  40002a
		40000a: bf00       nop
		40000c: 0015 0040  .word 0x400015
		400010: 0019 0040  .word 0x400019
		400014: 4770 bf00  bx  lr
		400018: 4770       bx  lr`})
	if e.AddressTaken(thumb(0x400014)) {
		t.Error("an offset is taken for a pointer")
	}
	if !e.AddressTaken(thumb(0x400018)) {
		t.Error("an address is not")
	}
	if got := e.PointedBelow(thumb(0x400020)); len(got) > 0 {
		t.Errorf("literals are taken for data that points to %#x", got)
	}
}

// TestLiteralAtTheEnd: a literal that a function returns is an address; one that A32 code
// adds to the PC is none.
func TestLiteralAtTheEnd(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "arm", Listing: `
	400000 <f>:
	400010 <g>:
		400000: e59f0000  ldr r0,[pc]
		400004: e12fff1e  bx  lr
		400008: 00400030  .word 0x400030
		400010: e59f0004  ldr r0,[pc,#4]
		400014: e08f0000  add r0,pc,r0
		400018: e12fff1e  bx  lr
		40001c: 00400020  .word 0x400020
		400020: e12fff1e  bx  lr
		400030: e12fff1e  bx  lr`})
	if !e.AddressTaken(at(0x400030)) || e.AddressTaken(at(0x400020)) {
		t.Error("the address of 400030 is taken, and not that of 400020")
	}
}

// TestLiteralIsNoCall: -4096, a literal behind a call that does not return, reads as a call into the
// middle of g. In Debian's libruby for armhf such a literal, -2307, cut the function that makes all
// classes (rb_call_inits) in two.
func TestLiteralIsNoCall(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "arm", Mode: 1, Entry: 0x400001, Listing: `
		400000: b510       push {r4, lr}
		400002: 4b03       ldr r3, [pc, #12]
		400004: f001 f804  bl  401010
		400008: bf00 bf00  nop; nop
		40000c: bf00 bf00  nop; nop
		400010: f000 ffff  .word -4096; reads as bl 401012
		401010: b510       push {r4, lr}
		401012: bf00       nop
		401014: bd10       pop {r4, pc}`})
	if want := []uint64{0x400001, 0x401011}; !slices.Equal(e.Certain(), want) {
		t.Errorf("functions begin at %#x, want %#x", e.Certain(), want)
	}
}

// TestDataPointers: aligned words that look like pointers to code, not those to strings,
// to the middle of instructions, or out of the text.
func TestDataPointers(t *testing.T) {
	p := codetest.Program{CPU: "mips o32 big", Data: map[uint64][]uint64{0x41_0000: {0x400008, 0x40000a, 0x400010, 0x500000, 0x40001c, 0}}, Listing: `
	400000 <f>:
		400000: 03e00008  jr ra
		400004: 00000000  nop
		400008: 03e00008  jr ra
		40000c: 00000000  nop
		400010: 6e6f2073  .string "no string here"
		400014: 7472696e
		400018: 67000000
		40001c: 03e00008  jr ra
		400020: 00000000  nop`}
	e := entries(t, p)
	if got, want := e.PointedBelow(at(0x400020)), []uint64{0x40001c, 0x400008}; !slices.Equal(got, want) {
		t.Errorf("data points to %#x, want %#x", got, want)
	}
	if got := e.NextPointer(0x400000); got != 0x400008 {
		t.Errorf("the first behind the entry is %#x", got)
	}
	if got := e.NextPointer(0x40001c); got != ^uint64(0) {
		t.Errorf("behind the last there is %#x", got)
	}
	if got, want := e.Starts(), []uint64{0x400000, 0x400008, 0x40001c}; !slices.Equal(got, want) {
		t.Errorf("worth an analysis are %#x, want %#x", got, want)
	}

	// Where relocations list what data holds, other words are numbers, however much they
	// look like addresses in a library linked at 0.
	p.Rebased = []uint64{0x40001c}
	if got, want := entries(t, p).PointedBelow(at(0x400020)), []uint64{0x40001c}; !slices.Equal(got, want) {
		t.Errorf("relocations list %#x, want %#x", got, want)
	}
}

// TestGOTPages: entries of MIPS' GOT for local data are multiples of 64 KB, to which code adds the
// rest: no pointer, unless the code in front does not lead into the place.
func TestGOTPages(t *testing.T) {
	for _, tt := range []struct {
		what, before string
		want         bool
	}{
		{"a prologue", "27bdffe0 3c1c0058", false},
		{"a call that returns", "0320f809 00000000", false},
		{"a return", "03e00008 00000000", true},
		{"a return and its delay slot", "03e00008 27bd0020", true},
		{"filler", "27bd0020 00000000", true},
	} {
		e := entries(t, codetest.Program{CPU: "mips o32 big", Data: map[uint64][]uint64{0x42_0000: {0x410000}},
			Listing: "40fff8: " + tt.before + `
				410000: 0399e021  addu gp,gp,t9
				410004: 03e00008  jr   ra
				410008: 00000000  nop`})
		if got := slices.Contains(e.PointedBelow(at(0x410008)), 0x410000); got != tt.want {
			t.Errorf("behind %s: a function is %v", tt.what, got)
		}
	}
}
