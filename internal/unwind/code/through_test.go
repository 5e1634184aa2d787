package code

import (
	"reflect"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/codetest"
	"github.com/backsight/backsight/unwind"
)

// TestCalledThrough: calls through a preserved register, through words that such a register leads to, and through
// a register of which the caller holds nothing any more.
func TestCalledThrough(t *testing.T) {
	m, _ := placed(t, codetest.Program{CPU: "aarch64", Listing: `
	400000 <caller>:
		400000: a9be7bfd  stp x29,x30,[sp,#-32]!
		400004: a90153f3  stp x19,x20,[sp,#16]
		400008: aa0003f3  mov x19,x0
		40000c: aa0103f4  mov x20,x1
		400010: d63f0280  blr x20
		400014: f9400e68  ldr x8,[x19,#24]
		400018: d63f0100  blr x8
		40001c: aa1303e0  mov x0,x19
		400020: f9400008  ldr x8,[x0]
		400024: f9400908  ldr x8,[x8,#16]
		400028: d63f0100  blr x8
		40002c: d63f0100  blr x8
		400030: a94153f3  ldp x19,x20,[sp,#16]
		400034: a8c27bfd  ldp x29,x30,[sp],#32
		400038: d65f03c0  ret`})
	x19, _ := m.Image.Arch.RegByName("x19")
	x20, _ := m.Image.Arch.RegByName("x20")
	table := unwind.Operand{Kind: unwind.InMemory, Reg: x19}
	for site, want := range map[uint64]unwind.Operand{
		0x400010: {Kind: unwind.InRegister, Reg: x20},
		0x400018: {Kind: unwind.InMemory, Reg: x19, Off: 24},
		0x400028: {Kind: unwind.Computed, Of: &unwind.Term{Op: cpu.OpLoad, A: table, Imm: 16}},
		0x40002c: {},
		0x400014: {},
	} {
		for range 2 {
			if got := New(nil).Witnesses().CalledThrough(m, site, 0); !reflect.DeepEqual(got, want) {
				t.Errorf("%x: %+v, want %+v", site, got, want)
			}
		}
	}
}
