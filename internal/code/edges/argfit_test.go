package edges

import (
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// passers is a program for AArch64. first writes through what it is passed first, second reads through what it is
// passed second, third does nothing with either; numbers passes a number of 32 bits, then one that another way replaces,
// then the caller's; itself passes nothing second but the address of what it calls.
var passers = codetest.Program{CPU: "aarch64", Listing: `
	400000 <first>:
	400010 <second>:
	400020 <third>:
	400030 <numbers>:
	400070 <itself>:
		400000: aa0003e3  mov x3, x0
		400004: f9000c62  str x2, [x3, #24]
		400008: d65f03c0  ret
		40000c: d503201f  nop
		400010: aa0103e0  mov x0, x1
		400014: f9400002  ldr x2, [x0]
		400018: d65f03c0  ret
		40001c: d503201f  nop
		400020: f9400062  ldr x2, [x3]
		400024: aa0103e0  mov x0, x1
		400028: d65f03c0  ret
		40002c: d503201f  nop
		400030: a9bf7bfd  stp x29, x30, [sp, #-16]!
		400034: aa0003f3  mov x19, x0
		400038: b9406675  ldr w21, [x19, #100]
		40003c: 2a1503e0  mov w0, w21
		400040: d63f0040  blr x2
		400044: b9406660  ldr w0, [x19, #100]
		400048: d63f0040  blr x2
		40004c: aa1303e0  mov x0, x19
		400050: d63f0040  blr x2
		400054: b4ffffb3  cbz x19, 400048
		400058: d65f03c0  ret
		400070: a9bf7bfd  stp x29, x30, [sp, #-16]!
		400074: f9405001  ldr x1, [x0, #160]
		400078: d63f0020  blr x1
		40007c: d65f03c0  ret`}

// TestMayLeadByArgument: a number of 32 bits, or the address of a function, is no address of data.
func TestMayLeadByArgument(t *testing.T) {
	m := &target.Module{Image: passers.Image(t), Bias: 0x1000_0000}
	for _, c := range []struct {
		name   string
		ra, pc uint64
		want   unwind.Answer
	}{
		{"a number for an address", 0x400044, 0x400008, unwind.No},
		{"a number for what is not looked at", 0x400044, 0x400018, unwind.Unknown},
		{"another way comes in", 0x40004c, 0x400008, unwind.Unknown},
		{"an address", 0x400054, 0x400008, unwind.Unknown},
		{"the function itself for an address", 0x40007c, 0x400018, unwind.No},
		{"the function itself for what is not looked at", 0x40007c, 0x400028, unwind.Unknown},
		{"an address first", 0x40007c, 0x400008, unwind.Unknown},
		{"no call", 0x400038, 0x400008, unwind.Unknown},
		{"outside", 0x300000, 0x400008, unwind.Unknown},
	} {
		if got := New(nil).MayLead(m, c.ra+m.Bias, 0, m, c.pc+m.Bias); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := New(nil).MayLead(nil, 0x400044, 0, m, 0x10400008); got != unwind.Unknown {
		t.Errorf("without a module: %v", got)
	}
}
