package edges

import (
	"fmt"
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
)

// handedTables is a program for AArch64 with two tables of functions. start hands the table at 420000, which has
// write at 32, to create, which keeps the address at 40; start itself keeps that of the table at 420100, which has
// second at 32, at 48, from where copier copies the address to 56. inner calls at 40/32 and 40/24, outer at 56/32;
// outer also calls write, and jumper, which jumps to third.
var handedTables = codetest.Program{CPU: "aarch64", Listing: `
	400000 <write>:
		400000: d65f03c0  ret
	400004 <second>:
		400004: d65f03c0  ret
	400008 <third>:
		400008: d65f03c0  ret
	40000c <jumper>:
		40000c: 17ffffff  b 400008 <third>
	400010 <create>:
		400010: a9bf7bfd  stp x29, x30, [sp, #-16]!
		400014: f9001420  str x0, [x1, #40]
		400018: a8c17bfd  ldp x29, x30, [sp], #16
		40001c: d65f03c0  ret
	400020 <start>:
		400020: a9bf7bfd  stp x29, x30, [sp, #-16]!
		400024: 90000100  adrp x0, 420000 <tab>
		400028: 91000000  add x0, x0, #0x0
		40002c: 97fffff9  bl 400010 <create>
		400030: 90000102  adrp x2, 420000 <tab>
		400034: 91040042  add x2, x2, #0x100
		400038: f9001822  str x2, [x1, #48]
		40003c: a8c17bfd  ldp x29, x30, [sp], #16
		400040: d65f03c0  ret
	400044 <copier>:
		400044: f9401801  ldr x1, [x0, #48]
		400048: f9001c41  str x1, [x2, #56]
		40004c: d65f03c0  ret
	400050 <inner>:
		400050: a9bf7bfd  stp x29, x30, [sp, #-16]!
		400054: f9401401  ldr x1, [x0, #40]
		400058: f9401023  ldr x3, [x1, #32]
		40005c: d63f0060  blr x3
		400060: f9401401  ldr x1, [x0, #40]
		400064: f9400c23  ldr x3, [x1, #24]
		400068: d63f0060  blr x3
		40006c: a8c17bfd  ldp x29, x30, [sp], #16
		400070: d65f03c0  ret
	400074 <outer>:
		400074: a9bf7bfd  stp x29, x30, [sp, #-16]!
		400078: f9401c01  ldr x1, [x0, #56]
		40007c: f9401023  ldr x3, [x1, #32]
		400080: d63f0060  blr x3
		400084: 97ffffe2  bl 40000c <jumper>
		400088: 97ffffde  bl 400000 <write>
		40008c: a8c17bfd  ldp x29, x30, [sp], #16
		400090: d65f03c0  ret`,
	Data: map[uint64][]uint64{0x420000: {1, 0, 0, 0, 0x400000}, 0x420100: {0, 0, 0, 0, 0x400004}}}

// TestCallsTo: the calls of a function are direct ones, also by way of a function that jumps there, and those that read
// the function at its slot behind a pointer that they read where the table's address is stored or copied.
func TestCallsTo(t *testing.T) {
	m := &target.Module{Image: handedTables.Image(t), Range: target.Range{Lo: 0x1040_0000, Hi: 0x1050_0000}, Bias: 0x1000_0000}
	snap := &target.Snapshot{Arch: m.Image.Arch, Modules: []*target.Module{m}}
	for _, c := range []struct {
		name string
		pc   uint64
		want []uint64
	}{
		{"write: inner's first call, and outer's direct one", 0x400000, []uint64{0x400060, 0x40008c}},
		{"second: the table's address is copied", 0x400004, []uint64{0x400084}},
		{"third: by way of jumper", 0x400008, []uint64{0x400088}},
		{"inner: none", 0x400050, nil},
		{"outside", 0x300000, nil},
	} {
		got := New(nil).Callers(snap, m, c.pc+m.Bias, 0).Returns
		for i := range got {
			got[i] -= m.Bias
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}

// TestCallsFromModules: a module of Linux for AArch64 calls the kernel's third, which outer of the kernel calls as well.
func TestCallsFromModules(t *testing.T) {
	kernel := &target.Module{Image: handedTables.Image(t), Range: target.Range{Lo: 0x40_0000, Hi: 0x50_0000}}
	driver := codetest.Program{CPU: "aarch64", Listing: `
	500000 <driver>:
		500000: a9bf7bfd  stp x29, x30, [sp, #-16]!
		500004: 97fc0001  bl 400008 <third>
		500008: a8c17bfd  ldp x29, x30, [sp], #16
		50000c: d65f03c0  ret`}
	m := &target.Module{Image: driver.Image(t), Range: target.Range{Lo: 0x50_0000, Hi: 0x51_0000}}
	m.Image.Arch = kernel.Image.Arch
	snap := &target.Snapshot{Arch: m.Image.Arch, Modules: []*target.Module{kernel, m}}
	if got := New(nil).Callers(snap, kernel, 0x400008, 0).Returns; !slices.Equal(got, []uint64{0x400088, 0x500008}) {
		t.Errorf("%#x", got)
	}
}

// TestSystemCall: a system call is in a list of 256 pointers to code or more, or is jumped to from there.
func TestSystemCall(t *testing.T) {
	for _, c := range []struct {
		words int
		pc    uint64
		want  int
	}{{255, 0x40000c, -1}, {256, 0x40000c, 7}, {256, 0x400008, 7}, {256, 0x400000, -1}} {
		p := handedTables
		p.Data = map[uint64][]uint64{0x420000: slices.Repeat([]uint64{0x400004}, c.words), 0x430000: {0x400000}}
		p.Data[0x420000][7] = 0x40000c // jumper
		m := &target.Module{Image: p.Image(t)}
		snap := &target.Snapshot{Arch: m.Image.Arch, Modules: []*target.Module{m}}
		if got := New(nil).Callers(snap, m, c.pc, 0).System; got != c.want {
			t.Errorf("%s: %v, want %v", fmt.Sprintf("%#x in a list of %d", c.pc, c.words), got, c.want)
		}
	}
}
