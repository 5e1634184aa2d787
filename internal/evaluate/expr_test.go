package evaluate

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind/rule"
)

// exprArch has two registers, with the DWARF numbers 0 and 40; r1 is never known.
func exprArch(addrSize int, big bool) *cpu.Arch {
	return &cpu.Arch{
		AddrSize: addrSize, RegSize: addrSize, BigEndian: big,
		RegisterFile: cpu.RegisterFile{Regs: []cpu.RegInfo{
			{Names: []string{"r0"}, DWARF: 0, Size: addrSize},
			{Names: []string{"r1"}, DWARF: 1, Size: addrSize},
			{Names: []string{"sp"}, DWARF: 40, Size: addrSize},
		}},
	}
}

type exprCase struct {
	name string
	expr []byte
	want uint64
	oc   Outcome
}

// evaluateAll runs expressions with r0 = 0x1000, sp = 0x2000, the CFA 0x3000 on
// the stack, and the bytes 0x81, 2, 3, 4, 5, 6, 7, 8 at 0x1000.
func evaluateAll(t *testing.T, arch *cpu.Arch, cases []exprCase) {
	var b target.Builder
	b.Add(0x1000, []byte{0x81, 2, 3, 4, 5, 6, 7, 8}, 0, target.PermRead)
	mem := b.Memory(arch)
	var regs cpu.Registers
	regs.Set(0, 0x1000)
	regs.Set(2, 0x2000)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v, oc := expression(c.expr, arch, &regs, mem, 0x3000, true)
			if oc != c.oc || (oc == Applied || oc == MissingMemory) && v != c.want {
				t.Errorf("%#x, outcome %d; want %#x, outcome %d", v, oc, c.want, c.oc)
			}
		})
	}
}

const minus64 = ^uint64(0) // −1; minus64 − n is −1−n

// TestExpressions: each DWARF operation that CFI may have, with its result.
func TestExpressions(t *testing.T) {
	evaluateAll(t, exprArch(8, false), []exprCase{
		{"empty: the CFA", nil, 0x3000, Applied},
		{"addr", []byte{0x03, 1, 2, 3, 4, 5, 6, 7, 8}, 0x0807060504030201, Applied},
		{"const1u", []byte{0x08, 0xff}, 0xff, Applied},
		{"const1s", []byte{0x09, 0xff}, minus64, Applied},
		{"const2u", []byte{0x0a, 1, 0x80}, 0x8001, Applied},
		{"const2s", []byte{0x0b, 0xfe, 0xff}, minus64 - 1, Applied},
		{"const4u", []byte{0x0c, 1, 0, 0, 0x80}, 0x8000_0001, Applied},
		{"const4s", []byte{0x0d, 0xfe, 0xff, 0xff, 0xff}, minus64 - 1, Applied},
		{"const8u", []byte{0x0e, 1, 2, 3, 4, 5, 6, 7, 8}, 0x0807060504030201, Applied},
		{"const8s", []byte{0x0f, 1, 2, 3, 4, 5, 6, 7, 8}, 0x0807060504030201, Applied},
		{"constu", []byte{0x10, 0xe5, 0x8e, 0x26}, 624485, Applied},
		{"consts", []byte{0x11, 0x7f}, minus64, Applied},
		{"dup plus", []byte{0x33, 0x12, 0x22}, 6, Applied},
		{"drop", []byte{0x33, 0x13}, 0x3000, Applied},
		{"over", []byte{0x33, 0x34, 0x14}, 3, Applied},
		{"pick 2", []byte{0x33, 0x34, 0x15, 2}, 0x3000, Applied},
		{"swap minus", []byte{0x33, 0x34, 0x16, 0x1c}, 1, Applied},
		{"rot: the third is on top", []byte{0x31, 0x32, 0x33, 0x17}, 2, Applied},
		{"rot: the top is third", []byte{0x31, 0x32, 0x33, 0x17, 0x13, 0x13}, 3, Applied},
		{"abs", []byte{0x09, 0xfe, 0x19}, 2, Applied},
		{"and", []byte{0x36, 0x33, 0x1a}, 2, Applied},
		{"div is signed", []byte{0x09, 0xf8, 0x33, 0x1b}, minus64 - 1, Applied},
		{"div by zero", []byte{0x38, 0x30, 0x1b}, 0, BadExpression},
		{"minus", []byte{0x34, 0x33, 0x1c}, 1, Applied},
		{"mod is not signed", []byte{0x09, 0xff, 0x08, 16, 0x1d}, 15, Applied},
		{"mod by zero", []byte{0x38, 0x30, 0x1d}, 0, BadExpression},
		{"mul", []byte{0x34, 0x33, 0x1e}, 12, Applied},
		{"neg", []byte{0x31, 0x1f}, minus64, Applied},
		{"not", []byte{0x30, 0x20}, minus64, Applied},
		{"or", []byte{0x34, 0x33, 0x21}, 7, Applied},
		{"plus_uconst", []byte{0x23, 0x80, 1}, 0x3080, Applied},
		{"shl", []byte{0x31, 0x38, 0x24}, 0x100, Applied},
		{"shl by 64", []byte{0x31, 0x08, 64, 0x24}, 0, Applied},
		{"shr", []byte{0x09, 0xff, 0x08, 60, 0x25}, 15, Applied},
		{"shra", []byte{0x09, 0xf0, 0x32, 0x26}, minus64 - 3, Applied},
		{"xor", []byte{0x36, 0x33, 0x27}, 5, Applied},
		{"eq", []byte{0x33, 0x33, 0x29}, 1, Applied},
		{"ge is signed", []byte{0x09, 0xff, 0x30, 0x2a}, 0, Applied},
		{"gt", []byte{0x34, 0x33, 0x2b}, 1, Applied},
		{"le", []byte{0x33, 0x33, 0x2c}, 1, Applied},
		{"lt is signed", []byte{0x09, 0xff, 0x30, 0x2d}, 1, Applied},
		{"ne", []byte{0x33, 0x34, 0x2e}, 1, Applied},
		{"lit31", []byte{0x4f}, 31, Applied},
		{"reg0 as libgcc has it", []byte{0x50}, 0x1000, Applied},
		{"regx 40", []byte{0x90, 40}, 0x2000, Applied},
		{"breg0 -1", []byte{0x70, 0x7f}, 0xfff, Applied},
		{"bregx 40 +8", []byte{0x92, 40, 8}, 0x2008, Applied},
		{"deref", []byte{0x70, 0, 0x06}, 0x0807060504030281, Applied},
		{"deref_size 2", []byte{0x70, 0, 0x94, 2}, 0x0281, Applied},
		{"deref_size 9", []byte{0x70, 0, 0x94, 9}, 0, BadExpression},
		{"nop", []byte{0x96}, 0x3000, Applied},
		{"call_frame_cfa", []byte{0x31, 0x9c}, 0x3000, Applied},
		{"skip over lit2", []byte{0x31, 0x2f, 1, 0, 0x32}, 1, Applied},
		{"bra taken", []byte{0x31, 0x31, 0x28, 1, 0, 0x32}, 1, Applied},
		{"bra not taken", []byte{0x31, 0x30, 0x28, 1, 0, 0x32}, 2, Applied},
		// lit3; loop: lit1 minus; dup; bra loop
		{"count down", []byte{0x33, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff}, 0, Applied},
		{"endless", []byte{0x2f, 0xfd, 0xff}, 0, BadExpression},
		{"jump before the start", []byte{0x2f, 0xf0, 0xff}, 0, BadExpression},
		{"jump past the end", []byte{0x2f, 1, 0}, 0, BadExpression},
		{"operand cut off", []byte{0x0e, 1, 2}, 0, BadExpression},
		{"stack empty", []byte{0x13, 0x13}, 0, BadExpression},
		{"nothing left", []byte{0x13}, 0, BadExpression},
		{"pick too deep", []byte{0x15, 1}, 0, BadExpression},
		{"stack full: lit1, again", []byte{0x31, 0x2f, 0xfc, 0xff}, 0, BadExpression},
		{"unknown operation", []byte{0x31, 0x31, 0xff}, 0, BadExpression},
		{"GNU_encoded_addr", []byte{0xf1, 0, 1}, 0, BadExpression},
		{"register not known", []byte{0x71, 0}, 0, MissingRegister},
		{"register not tracked", []byte{0x8f, 0}, 0, MissingRegister},
		{"memory not captured", []byte{0x92, 40, 8, 0x06}, 0x2008, MissingMemory},
		// The PLT's CFA: rsp + 8, and 8 more behind the push, at offset 11 of 16.
		{"as in .plt", []byte{0x92, 40, 8, 0x70, 11, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, 0x2010, Applied},
	})
}

// Numbers wrap at the width of an address, and its top bit is the sign.
func TestExpressionsOf32Bits(t *testing.T) {
	evaluateAll(t, exprArch(4, true), []exprCase{
		{"const2u", []byte{0x0a, 0x80, 1}, 0x8001, Applied},
		{"wrap", []byte{0x09, 0xff, 0x32, 0x22}, 1, Applied},
		{"neg", []byte{0x31, 0x1f}, 0xffff_ffff, Applied},
		{"lt is signed", []byte{0x0c, 0xff, 0xff, 0xff, 0xff, 0x30, 0x2d}, 1, Applied},
		{"shra", []byte{0x09, 0xf0, 0x32, 0x26}, 0xffff_fffc, Applied},
		{"shl out", []byte{0x31, 0x08, 32, 0x24}, 0, Applied},
		{"deref", []byte{0x70, 0, 0x06}, 0x8102_0304, Applied},
		{"deref_size 8", []byte{0x70, 0, 0x94, 8}, 0, BadExpression},
		{"const8u", []byte{0x0e, 1, 2, 3, 4, 5, 6, 7, 8}, 0x0506_0708, Applied},
	})
}

// The CFA's own expression begins with an empty stack.
func TestExpressionOfTheCFA(t *testing.T) {
	arch := exprArch(8, false)
	var b target.Builder
	b.Add(0x2000, []byte{0, 0x40, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0}, 0, target.PermRead)
	mem := b.Memory(arch)
	var regs cpu.Registers
	regs.Set(2, 0x2000)
	for _, expr := range [][]byte{nil, {0x9c}} {
		if v, oc := expression(expr, arch, &regs, mem, 0, false); oc != BadExpression {
			t.Errorf("% x: %#x, outcome %d", expr, v, oc)
		}
	}
	arch.SP, arch.PC, arch.LR = 2, 0, cpu.NoReg
	r := rule.Rule{
		CFA: rule.Register{Kind: rule.ValExpression, Expr: []byte{0x92, 40, 8}}, // sp + 8
		RA:  rule.Register{Kind: rule.Expression, Expr: []byte{}},               // [CFA]
	}
	var out cpu.Registers
	res, oc := Rule(arch, &r, &regs, mem, 0, &out)
	if oc != Applied || res.CFA != 0x2008 || res.PC != 0x201 {
		t.Errorf("outcome %d, CFA %#x, PC %#x", oc, res.CFA, res.PC)
	}
	r.CFA.Expr = []byte{0x92, 40, 16, 0x06} // [sp + 16], which was not captured
	if res, oc = Rule(arch, &r, &regs, mem, 0, &out); oc != MissingMemory || res.Addr != 0x2010 {
		t.Errorf("outcome %d, address %#x", oc, res.Addr)
	}
}

func TestEvaluateDoesNotAllocate(t *testing.T) {
	arch := exprArch(8, false)
	mem := new(target.Builder).Memory(arch)
	var regs cpu.Registers
	expr := []byte{0x31, 0x2f, 0xfc, 0xff} // fills the stack
	if n := testing.AllocsPerRun(10, func() { expression(expr, arch, &regs, mem, 0, true) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzEvaluate(f *testing.F) {
	f.Add([]byte{0x92, 40, 8, 0x70, 11, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, false)
	f.Add([]byte{0x33, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff}, true)
	f.Fuzz(func(t *testing.T, expr []byte, narrow bool) {
		arch := exprArch(8, narrow)
		if narrow {
			arch.AddrSize = 4
		}
		var b target.Builder
		b.Add(0x1000, make([]byte, 64), 0, target.PermRead)
		var regs cpu.Registers
		regs.Set(0, 0x1000)
		v, oc := expression(expr, arch, &regs, b.Memory(arch), 0x3000, true)
		if v&^arch.AddrMask() != 0 {
			t.Errorf("%#x, outcome %d", v, oc)
		}
	})
}
