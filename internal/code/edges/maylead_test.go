package edges

import (
	"testing"

	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
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

// slotTables is a program for AArch64 that calls functions out of tables. outer reads what it calls at 24 (twice, the
// second time where another way comes in), inner at 32, indexed in a list of functions, start hands on the
// table at 420000, which has write at 32; taken is in that table, too, and its address is built as well; the
// table at 420100 has second at 32 and lies behind one that only data names.
var slotTables = codetest.Program{CPU: "aarch64", Listing: `
	400000 <first>:
	400008 <taken>:
	400010 <second>:
	400018 <write>:
	400020 <outer>:
	400050 <inner>:
	400080 <indexed>:
	4000a0 <start>:
		400000: d65f03c0  ret
		400004: d503201f  nop
		400008: d65f03c0  ret
		40000c: d503201f  nop
		400010: d65f03c0  ret
		400014: d503201f  nop
		400018: d65f03c0  ret
		40001c: d503201f  nop
		400020: a9bf7bfd  stp x29, x30, [sp, #-16]!
		400024: f9401401  ldr x1, [x0, #40]
		400028: f9400c23  ldr x3, [x1, #24]
		40002c: d63f0060  blr x3
		400030: f9400c23  ldr x3, [x1, #24]
		400034: d63f0060  blr x3
		400038: b4ffffe0  cbz x0, 400034
		40003c: a8c17bfd  ldp x29, x30, [sp], #16
		400040: d65f03c0  ret
		400050: a9bf7bfd  stp x29, x30, [sp, #-16]!
		400054: f9401401  ldr x1, [x0, #40]
		400058: f9401023  ldr x3, [x1, #32]
		40005c: d63f0060  blr x3
		400060: a8c17bfd  ldp x29, x30, [sp], #16
		400064: d65f03c0  ret
		400080: a9bf7bfd  stp x29, x30, [sp, #-16]!
		400084: 8b010c02  add x2, x0, x1, lsl #3
		400088: f9400c43  ldr x3, [x2, #24]
		40008c: d63f0060  blr x3
		400090: a8c17bfd  ldp x29, x30, [sp], #16
		400094: d65f03c0  ret
		4000a0: 90000100  adrp x0, 420000
		4000a4: 91000000  add x0, x0, #0x0
		4000a8: 90000001  adrp x1, 400000
		4000ac: 91002021  add x1, x1, #0x8
		4000b0: d65f03c0  ret`,
	Data: map[uint64][]uint64{0x420000: {1, 0, 0, 0, 0x400018, 0x400008}, 0x420100: {0, 0, 0, 0, 0x400010}, 0x430000: {0x420108, 0x420100}}}

// mayLead is the answer for a call that returns to ra, and the function that has pc.
type mayLead struct {
	name   string
	ra, pc uint64
	want   stackwalk.Answer
}

func checkMayLead(t *testing.T, p codetest.Program, cases []mayLead) {
	t.Helper()
	m := &target.Module{Image: p.Image(t), Bias: 0x1000_0000}
	for _, c := range cases {
		if got := New(nil).MayLead(m, c.ra+m.Bias, 0, m, c.pc+m.Bias); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := New(nil).MayLead(nil, cases[0].ra, 0, m, cases[0].pc+m.Bias); got != stackwalk.Unknown {
		t.Errorf("without a module: %v", got)
	}
}

// TestMayLeadByArgument: a number of 32 bits, or the address of a function, is no address of data.
func TestMayLeadByArgument(t *testing.T) {
	checkMayLead(t, passers, []mayLead{
		{"a number for an address", 0x400044, 0x400008, stackwalk.No},
		{"a number for what is not looked at", 0x400044, 0x400018, stackwalk.Unknown},
		{"another way comes in", 0x40004c, 0x400008, stackwalk.Unknown},
		{"an address", 0x400054, 0x400008, stackwalk.Unknown},
		{"the function itself for an address", 0x40007c, 0x400018, stackwalk.No},
		{"the function itself for what is not looked at", 0x40007c, 0x400028, stackwalk.Unknown},
		{"an address first", 0x40007c, 0x400008, stackwalk.Unknown},
		{"no call", 0x400038, 0x400008, stackwalk.Unknown},
		{"outside", 0x300000, 0x400008, stackwalk.Unknown},
	})
}

// TestMayLeadByTable: a call reads a function out of a table at one offset, at which some table must have it.
func TestMayLeadByTable(t *testing.T) {
	checkMayLead(t, slotTables, []mayLead{
		{"another offset", 0x400030, 0x400018, stackwalk.No},
		{"another way comes in", 0x400038, 0x400018, stackwalk.Unknown},
		{"its offset", 0x400060, 0x400018, stackwalk.Unknown},
		{"an index", 0x400090, 0x400018, stackwalk.Unknown},
		{"a function whose address is taken", 0x400030, 0x400008, stackwalk.Unknown},
		{"a table within a table, which data names", 0x400030, 0x400010, stackwalk.Unknown},
		{"no call", 0x400028, 0x400018, stackwalk.Unknown},
		{"outside", 0x300000, 0x400018, stackwalk.Unknown},
	})
}
