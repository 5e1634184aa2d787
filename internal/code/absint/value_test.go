package absint

import (
	"testing"

	"github.com/backsight/backsight/cpu"
)

// TestUnknownSum: sums with what is not known are not known, and constants wrap as
// registers do.
func TestUnknownSum(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want Value
	}{
		{"unknown+4", Value{}.Plus(4), Value{}},
		{"a stored word plus 4", Value{Kind: StartMemory, Off: 8}.Plus(4), Value{Kind: StartMemory, Off: 8, Add: 4}},
		{"a stored word plus 2⁴⁰", Value{Kind: StartMemory, Off: 8}.Plus(1 << 40), Value{}},
		{"an address plus 4", StartOf(3).Plus(4), Value{Kind: StartRelative, Base: 3, Off: 4}},
		{"unknown plus the address of a table", Value{}.plusConstant(0x4000), Value{Kind: TableAddress, Off: 0x4000}},
		{"the difference of two addresses", StartOf(3).Plus(8).minus(StartOf(3), 0), Const(8)},
		{"the difference of addresses over different registers", StartOf(3).minus(StartOf(4), 0), Value{}},
		{"an address minus 3·4", StartOf(3).minus(Const(3), 2), StartOf(3).Plus(-12)},
		{"a 32-bit result in 64 bits", Const(0x8000_0000).truncate(8), Const(-0x8000_0000)},
		{"32 bits of a 64-bit address", StartOf(3).truncate(8), Value{}},
		{"32 bits of a 32-bit address", StartOf(3).truncate(4), StartOf(3)},
		{"movk x0,#1,lsl #16", Const(0xffff_1234).Insert(&cpu.Insn{Imm: 1, Scale: 16}), Const(0x1_1234)},
		{"0 | unknown", or(Const(0), Value{}), Value{}},
		{"0 | rbx", or(Const(0), StartOf(3)), StartOf(3)},
		{"4 | 1", or(Const(4), Const(1)), Const(5)},
	} {
		if tt.got != tt.want {
			t.Errorf("%s = %+v", tt.name, tt.got)
		}
	}
}
