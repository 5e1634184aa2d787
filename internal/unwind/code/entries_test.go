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

// TestLoadedFunctionEndsGaps: behind a jump to nobody knows where, the code up to the
// next function is tried, but not that function, which a resolver alone names (the
// string functions of glibc's i386 assembly jump through tables like that).
func TestLoadedFunctionEndsGaps(t *testing.T) {
	const local, resolver = text + 0x10, text + 0x20
	code := make([]byte, 0x30)
	copy(code, "\x53\xff\xe0")                                     // push %rbx; jmp *%rax
	copy(code[3:], "\x5b\xc3")                                     // pop %rbx; ret
	copy(code[5:], "\x66\x0f\x1f\x44\x00\x00\x0f\x1f\x44\x00\x00") // padding
	copy(code[0x10:], "\x53\x5b\xc3")                              // push %rbx; pop %rbx; ret
	copy(code[0x20:], "\x48\x8d\x05\xe9\xff\xff\xff\xc3")          // lea -23(%rip),%rax; ret
	an := New(nil).of(program(arch(t, "x86_64", "", false), code, nil, text, resolver))
	if f := an.function(text, 0); f.contiguousEnd() != text+5 {
		t.Errorf("the function ends at %#x, not in front of the one at %#x", f.contiguousEnd(), local)
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

// TestPointerByGOT: i386's position-independent code builds the addresses of
// functions on the GOT's, which it reads the PC for.
func TestPointerByGOT(t *testing.T) {
	const local = text + 0x20
	code := make([]byte, 0x30)
	copy(code, "\xe8\x0b\x00\x00\x00"+ // call thunk
		"\x05\x00\x10\x00\x00"+ // add $0x1000,%eax
		"\x8d\x90\x1b\xf0\xff\xff") // lea -0xfe5(%eax),%edx
	copy(code[0x10:], "\x8b\x04\x24\xc3") // mov (%esp),%eax; ret
	copy(code[0x20:], "\x89\xf8\xc3")
	an := New(nil).of(program(arch(t, "i386", "", false), code, nil, text))
	if !slices.Contains(an.weakEntries(), key(local, 0)) {
		t.Errorf("%#x is not among %#x", local, an.weakEntries())
	}
}

// relocated is a container whose relocations list addresses.
type relocated struct {
	functionsOnly
	values []uint64
}

func (c *relocated) Rebased(yield func(uint64) bool) bool {
	for _, v := range c.values {
		if !yield(v) {
			break
		}
	}
	return true
}

// TestRelocatedPointers: where relocations list what data holds, other words are
// numbers, however much they look like addresses in a library linked at 0.
func TestRelocatedPointers(t *testing.T) {
	data := image.Segment{Addr: 0x41_0000, Size: 8, Data: words(text+8, text+16), Read: true}
	code := image.Segment{Addr: text, Size: 24, Data: words(jrRA, nop, jrRA, nop, jrRA, nop), Read: true, Exec: true}
	h := image.Header{Arch: arch(t, "mips", "o32", true), Segments: []image.Segment{code, data}}
	an := New(nil).of(image.New(h, &relocated{functionsOnly{entries: []uint64{text}}, []uint64{text + 8}}))
	if got := an.weakEntries(); !slices.Equal(got, []uint64{key(text+8, 0)}) {
		t.Errorf("%#x, want %#x", got, text+8)
	}
}
