package code

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/backsight/backsight/image"
)

// TestCarriedConstant: the address of a function is built from a register that was
// set before a branch, as MIPS16 code reads the GOT through a copy of gp in s0.
func TestCarriedConstant(t *testing.T) {
	const local = text + 0x24
	an := mips(t, []uint64{text},
		0x24020040, // li    v0,0x40
		0x00028400, // sll   s0,v0,16
		0x14800003, // bnez  a0,400018
		nop,
		jrRA,
		nop,
		0x26190024, // addiu t9,s0,36
		0x03200008, // jr    t9
		nop,
		0x03e00008, // 400024: jr ra
		nop)
	if !slices.Contains(an.weakEntries(), key(local, 0)) {
		t.Errorf("%#x is not among %#x", local, an.weakEntries())
	}
}

// TestPointedFunction: a function that only data names holds the only constant that
// names another, as an indirect function's resolver does (glibc's strcpy, which a
// static program's IRELATIVE relocations lead to).
func TestPointedFunction(t *testing.T) {
	const resolver, local = text + 0x10, text + 0x20
	code := make([]byte, 0x30)
	copy(code, "\xc3")                                    // ret
	copy(code[0x10:], "\x48\x8d\x05\x09\x00\x00\x00\xc3") // lea 9(%rip),%rax; ret
	copy(code[0x20:], "\x89\xf8\xc3")                     // mov %edi,%eax; ret
	data := image.Segment{Addr: 0x41_0000, Size: 8, Data: binary.LittleEndian.AppendUint64(nil, resolver), Read: true}
	an := New(nil).of(program(arch(t, "x86_64", "", false), code, []image.Segment{data}, text))
	if !slices.Contains(an.weakEntries(), key(local, 0)) {
		t.Errorf("%#x is not among %#x", local, an.weakEntries())
	}
}

// TestPaddedLabel: padding in front of a jump's target is no end of the function.
func TestPaddedLabel(t *testing.T) {
	an := mips(t, []uint64{text},
		0x10800005, // beqz a0,400018
		nop,
		jrRA,
		nop,
		nop, // padding
		nop,
		0x24020001, // 400018: li v0,1
		jrRA,
		nop)
	if end := an.function(text, 0).contiguousEnd(); end != text+0x24 {
		t.Errorf("the function ends at %#x", end)
	}
}
