package code

import (
	"reflect"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/codetest"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/unwind"
)

// TestComputedClues: one call passes on an int that its function was passed; the other, whose return
// address is one bit away, computes one from that int and from what the function keeps in x20. What f
// was passed, as an int, lies in f's frame.
func TestComputedClues(t *testing.T) {
	const listing = `
	400000 <caller>:
	400100 <f>:
	400200 <g>:
		400000: a9be7bf4  stp x20,x30,[sp,#-32]!
		400004: b9001be1  str w1,[sp,#24]
		400008: b9401be1  ldr w1,[sp,#24]
		40000c: 9400003d  bl  400100
		400010: 51001414  sub w20,w0,#5
		400014: b9401be2  ldr w2,[sp,#24]
		400018: 53017e81  lsr w1,w20,#1
		40001c: 51000421  sub w1,w1,#1
		400020: 2a020021  orr w1,w1,w2
		400024: 121f0021  and w1,w1,#2
		400028: d503201f  nop
		40002c: 94000035  bl  400100
		400030: a8c27bf4  ldp x20,x30,[sp],#32
		400034: d65f03c0  ret
		400100: a9be4ffe  stp x30,x19,[sp,#-32]!
		400104: b90013e1  str w1,[sp,#16]
		400108: 9400003e  bl  400200
		40010c: a8c24ffe  ldp x30,x19,[sp],#32
		400110: d65f03c0  ret
		400200: d65f03c0  ret`
	m, snap := placed(t, codetest.Program{CPU: "aarch64", Listing: listing})
	x20, _ := m.Image.Arch.RegByName("x20")
	of := func(term unwind.Term) unwind.Operand { return unwind.Operand{Kind: unwind.Computed, Of: &term} }
	word := func(off int64) unwind.Operand {
		return unwind.Operand{Kind: unwind.InMemory, Reg: m.Image.Arch.SP, Off: off, Size: 4}
	}
	half := of(unwind.Term{Op: cpu.OpShrImm, A: unwind.Operand{Kind: unwind.InRegister, Reg: x20}, Imm: 1})
	either := of(unwind.Term{Op: cpu.OpOr, A: of(unwind.Term{Op: cpu.OpAddImm, A: half, Imm: -1}), B: word(24)})
	computed := of(unwind.Term{Op: cpu.OpAndImm, A: either, Imm: 2})
	want := [][]unwind.Clue{{{What: word(-16), Own: word(24), Other: computed, OfCallee: true, Straight: true}}}
	f := unwind.Frame{PC: 0x40010c, CallSite: 0x400108, Module: m}
	first := unwind.Frame{PC: 0x400010, CallSite: 0x40000c, Module: m}
	if got := New(nil).Witnesses().Clues(snap, nil, &f, &first); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestComputation: what a call passes follows from registers that the caller keeps and from words of
// the caller's frame whose addresses nobody else has, by arithmetic of which 32 bits are known.
func TestComputation(t *testing.T) {
	const address = "910043e2  add x2,sp,#16"
	for _, tt := range []struct {
		what, first, in string
		known           bool
	}{
		{"an int of the frame", "d503201f  nop", "b9401be1  ldr w1,[sp,#24]", true},
		{"an int of an object whose address is passed on", address, "b9401be1  ldr w1,[sp,#24]", false},
		{"an int below that object", address, "b9400be1  ldr w1,[sp,#8]", true},
		{"an int that is overwritten behind the load", "b9401be1  ldr w1,[sp,#24]", "b9001bff  str wzr,[sp,#24]", false},
		{"half of the int", "d503201f  nop", "53017e81  lsr w1,w20,#1", true},
		{"half of 64 bits", "d503201f  nop", "d341fe81  lsr x1,x20,#1", false},
		{"a byte", "d503201f  nop", "394063e1  ldrb w1,[sp,#24]", false},
		{"from the heap", "d503201f  nop", "b9401a81  ldr w1,[x20,#24]", false},
		{"a sum of ints", "d503201f  nop", "0b140281  add w1,w20,w20", true},
		{"of a byte of the int", "d503201f  nop", "0b348281  add w1,w20,w20,sxtb", false},
		{"an exclusive or", "d503201f  nop", "4a140281  eor w1,w20,w20", false},
	} {
		m, _ := placed(t, codetest.Program{CPU: "aarch64", Listing: `
		400000 <caller>:
			400000: a9be7bf4  stp x20,x30,[sp,#-32]!
			400004: ` + tt.first + `
			400008: ` + tt.in + `
			40000c: 9400003c  bl  4000fc
			400010: a8c27bf4  ldp x20,x30,[sp],#32
			400014: d65f03c0  ret
			4000fc: d65f03c0  ret`})
		x1, _ := m.Image.Arch.RegByName("x1")
		fn := New(nil).of(m.Image).flows.Function(disasm.Addr{PC: 0x400000})
		call := passed{arch: m.Image.Arch}
		if !call.at(fn, disasm.Addr{PC: 0x40000c}) {
			t.Fatalf("%s: no call", tt.what)
		}
		if got := call.register(x1); (got.Kind != unwind.Anything) != tt.known {
			t.Errorf("%s: %+v, want known: %t", tt.what, got, tt.known)
		}
	}
}
