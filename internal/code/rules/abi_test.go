package rules

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestABI: the ABI's method knows what the others cannot: a frame in code that nothing leads
// to and that never returns. Its answer is a fallback.
func TestABI(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: `
		400000: 03e00008  jr    ra            the end of what stands before
		400004: 00000000  nop
		400008: 27bdffe8  addiu sp,sp,-24
		40000c: afbf0014  sw    ra,20(sp)
		400010: afb00010  sw    s0,16(sp)
		400014: 00808025  move  s0,a0
		400018: 14800002  bnez  a0,400024
		40001c: 00000000  nop
		400020: 00800008  jr    a0
		400024: 00000000  nop
		400028: 0c140000  jal   500000
		40002c: 00000000  nop
		400030: 1000ffff  b     400030
		400034: 00000000  nop`})
	for _, tt := range []struct {
		q    *stackwalk.Query
		want string
	}{
		{exact(an, 0x400030), "CFA=sp+24 RA=[CFA-4] s0=[CFA-8]"},    // behind the first block, slots are trusted
		{resuming(an, 0x400030), "CFA=sp+24 RA=[CFA-4] s0=[CFA-8]"}, // as behind calls
		{exact(an, 0x400010), "CFA=sp+24 RA=ra"},                    // within it, only what happened
		{exact(an, 0x400008), "CFA=sp RA=ra"},
	} {
		p, ok := PointOf(an.Code, tt.q)
		var r stackwalk.Rule
		if !ok || !ABI(an, p, &r) {
			t.Errorf("%x: no rule", tt.q.PC)
		} else if got := r.Format(an.Arch); got != tt.want || r.Flags != stackwalk.Fallback {
			t.Errorf("%x: %s, flags %b", tt.q.PC, got, r.Flags)
		}
	}
}

// TestABIStub: a PLT stub has no frame, though the PLT's first entry stands above, which pushes
// what the dynamic linker's resolver pops.
func TestABIStub(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "aarch64", Imports: map[uint64]string{0x11000: "memcpy", 0x11008: "free"}, Listing: `
		1000: a9bf7bf0  stp  x16,x30,[sp,#-16]!
		1004: f0000070  adrp x16,10000
		1008: f947fe11  ldr  x17,[x16,#4088]
		100c: 913fe210  add  x16,x16,#0xff8
		1010: d61f0220  br   x17
		1014: d503201f  nop
		1018: d503201f  nop
		101c: d503201f  nop
		1020: 90000090  adrp x16,11000
		1024: f9400211  ldr  x17,[x16]
		1028: 91000210  add  x16,x16,#0x0
		102c: d61f0220  br   x17
		1030: 90000090  adrp x16,11000
		1034: f9400611  ldr  x17,[x16,#8]
		1038: 91002210  add  x16,x16,#0x8
		103c: d61f0220  br   x17`})
	for pc, want := range map[uint64]string{0x1020: "CFA=sp RA=x30", 0x1028: "CFA=sp RA=x30", 0x103c: "CFA=sp RA=x30", 0x1008: "CFA=sp+16 RA=x30"} {
		p, ok := PointOf(an.Code, exact(an, pc))
		var r stackwalk.Rule
		if !ok || !ABI(an, p, &r) || r.Format(an.Arch) != want {
			t.Errorf("%x: %s, want %s", pc, r.Format(an.Arch), want)
		}
	}
}

// TestABIFirstCall: behind a call in the first block the saved registers are in their slots.
func TestABIFirstCall(t *testing.T) {
	an := analysis(t, codetest.Program{CPU: "aarch64", Listing: `
		400000: d65f03c0  ret
		400004: a9be7bfd  stp x29,x30,[sp,#-32]!
		400008: f9000bf3  str x19,[sp,#16]
		40000c: 94000100  bl  40040c
		400010: 14000000  b   400010`})
	p, ok := PointOf(an.Code, resuming(an, 0x400010))
	var r stackwalk.Rule
	if !ok || !ABI(an, p, &r) || r.Format(an.Arch) != "CFA=sp+32 RA=[CFA-24] x19=[CFA-16] x29=[CFA-32]" {
		t.Error(r.Format(an.Arch))
	}
}

// TestABIKnownStart: where the start is known the frame is taken from there, not from the
// nearest allocation above.
func TestABIKnownStart(t *testing.T) {
	listing := `
		400000: 27bdffe8  addiu sp,sp,-24
		400004: afbf0014  sw    ra,20(sp)
		400008: 10800003  beqz  a0,400018
		40000c: 00000000  nop
		400010: 27bdfff8  addiu sp,sp,-8      a part with more of a frame
		400014: 27bd0008  addiu sp,sp,8
		400018: 1000ffff  b     400018
		40001c: 00000000  nop`
	for label, want := range map[string]string{"": "CFA=sp RA=ra", "400000 <f>:": "CFA=sp+24 RA=[CFA-4]"} {
		an := analysis(t, codetest.Program{CPU: "mips o32 big", Listing: label + listing})
		p, _ := PointOf(an.Code, exact(an, 0x400018))
		var r stackwalk.Rule
		if !ABI(an, p, &r) || r.Format(an.Arch) != want {
			t.Errorf("%q: %s, want %s", label, r.Format(an.Arch), want)
		}
	}
}

// TestABINeedsOneSize: code of instructions of several sizes cannot be read upwards.
func TestABINeedsOneSize(t *testing.T) {
	for _, name := range []string{"riscv64", "x86_64"} {
		an := analysis(t, codetest.Program{CPU: name, Listing: "400000: 00000000\n40003c: 00000000"})
		var r stackwalk.Rule
		if ABI(an, Point{Site: 0x400020, PC: 0x400020, Exact: true}, &r) {
			t.Errorf("%s: instructions of two sizes were scanned upwards", name)
		}
	}
}

// TestABIScanEnds: a scan ends where the code begins, or after so many instructions.
func TestABIScanEnds(t *testing.T) {
	img := codetest.Program{CPU: "aarch64", Listing: "1000: d503201f\n81000: d503201f"}.Image(t)
	arch, decoded := synth.Counting(img.Arch)
	img.Arch = arch
	an := ofImage(img)
	for _, pc := range []uint64{0x1010, 0x80000} {
		decoded.Swap(0)
		var r stackwalk.Rule
		if ABI(an, Point{Site: pc, PC: pc, Exact: true}, &r) {
			t.Errorf("%x: %s", pc, r.Format(an.Arch))
		}
		if n := decoded.Swap(0); n > 4*abiSpan {
			t.Errorf("%x: %d instructions were looked at", pc, n)
		}
	}
}
