package compact

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

const (
	textAt = 0x1000
	tableA = 0x4000
)

// one is an image with one function, whose encoding is e. The function begins with
// sub $0x1234, %rsp.
func one(arch *cpu.Arch, e uint32) *image.Image {
	text := append([]byte{0x48, 0x81, 0xec, 0x34, 0x12, 0, 0}, make([]byte, 0x100-7)...)
	var table []byte
	for _, w := range []uint32{1, 28, 0, 28, 0, 28, 2, textAt, 52, 0, textAt + 0x100, 0, 0, 2, 8 | 1<<16, textAt, e} {
		table = binary.LittleEndian.AppendUint32(table, w)
	}
	size := uint64(len(table))
	return image.New(image.Header{Arch: arch, Segments: []image.Segment{
		{Addr: textAt, Size: uint64(len(text)), Data: text, Exec: true}, {Addr: tableA, Size: size, Data: table}},
		Tables: []image.Table{{Kind: image.CompactUnwind, Range: image.Range{Addr: tableA, Size: size}}}}, nil)
}

// TestEncodings: every kind of encoding, as a rule where the function calls others. Orders of
// registers are counted by hand: 0xff = 2·120 + 0·24 + 2·6 + 1·2 + 1 are the third of six, the
// first of what is left, the third, the second, the second, the last.
func TestEncodings(t *testing.T) {
	x8664, i386, a64, a32 := x86.Archs()[0], x86.Archs()[1], arm64.Archs()[0], arm.Archs()[0]
	for _, tt := range []struct {
		arch *cpu.Arch
		e    uint32
		want string // "" where there is none
	}{
		{x8664, 0x0100_0000, "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16]"},
		{x8664, 0x0101_0001, "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16] rbx=[CFA-24]"},
		{x8664, 0x0105_58d1, "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16] rbx=[CFA-56] r12=[CFA-48] r13=[CFA-40] r14=[CFA-32] r15=[CFA-24]"},
		{x8664, 0x5105_58d1, "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16] rbx=[CFA-56] r12=[CFA-48] r13=[CFA-40] r14=[CFA-32] r15=[CFA-24]"},
		{x8664, 0x0103_0042, "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16] r12=[CFA-40] rbx=[CFA-24]"}, // a hole in the middle
		{x8664, 0x0101_0007, ""}, // no register 7
		{x8664, 0x0201_0000, "CFA=rsp+8 RA=[CFA-8]"},
		{x8664, 0x0202_0400, "CFA=rsp+16 RA=[CFA-8] rbx=[CFA-16]"},
		{x8664, 0x0206_18d7, ""}, // 6 registers and no room
		{x8664, 0x0208_1800, "CFA=rsp+64 RA=[CFA-8] rbx=[CFA-56] r12=[CFA-48] r13=[CFA-40] r14=[CFA-32] r15=[CFA-24] rbp=[CFA-16]"},
		{x8664, 0x0204_080b, "CFA=rsp+32 RA=[CFA-8] r13=[CFA-24] r12=[CFA-16]"},
		{x8664, 0x0208_18ff, "CFA=rsp+64 RA=[CFA-8] r13=[CFA-56] rbx=[CFA-48] r15=[CFA-40] r14=[CFA-32] rbp=[CFA-24] r12=[CFA-16]"},
		{x8664, 0x0208_1c00, ""}, // 7 registers
		{x8664, 0x0202_0406, ""}, // no such order
		{x8664, 0x0303_2400, "CFA=rsp+4668 RA=[CFA-8] rbx=[CFA-16]"},
		{x8664, 0x03f0_0000, ""}, // no frame has 0 bytes
		{x8664, 0x0400_0040, ""}, // an FDE
		{x8664, 0, ""},
		{i386, 0x0101_0005, "CFA=ebp+8 RA=[CFA-4] ebp=[CFA-8] esi=[CFA-12]"},
		{i386, 0x0203_0805, "CFA=esp+12 RA=[CFA-4] ebx=[CFA-8]"}, // ecx, which calls do not preserve, and ebx
		{a64, 0x0400_0000, "CFA=x29+16 RA=[CFA-8] x29=[CFA-16]"},
		{a64, 0x0400_0003, "CFA=x29+16 RA=[CFA-8] x29=[CFA-16] x19=[CFA-24] x20=[CFA-32] x21=[CFA-40] x22=[CFA-48]"},
		{a64, 0x0400_0911, "CFA=x29+16 RA=[CFA-8] x29=[CFA-16] x19=[CFA-24] x20=[CFA-32] x27=[CFA-40] x28=[CFA-48]"},
		{a64, 0x0200_2001, "CFA=sp+32 RA=x30 x19=[CFA-8] x20=[CFA-16]"},
		{a64, 0x0300_0040, ""}, // an FDE
		{a32, 0x0100_0000, "CFA=r7+8 RA=[CFA-4] r7=[CFA-8]"},
		{a32, 0x0200_0307, "CFA=r7+8 RA=[CFA-4] r7=[CFA-8] r6=[CFA-12] r5=[CFA-16] r4=[CFA-20]"},
		{a32, 0x0140_00a4, "CFA=r7+12 RA=[CFA-8] r7=[CFA-12] r6=[CFA-16] r10=[CFA-24]"}, // r12, which calls do not preserve, between them
		{a32, 0x0400_0040, ""}, // an FDE
	} {
		var rule stackwalk.Rule
		rule.Reset()
		q := stackwalk.Query{Image: one(tt.arch, tt.e), Arch: tt.arch, PC: textAt + 0x20}
		v := Source{}.Rule(&q, &rule)
		if got := rule.Format(tt.arch); (v == unwind.Found) != (tt.want != "") || v == unwind.Found && got != tt.want {
			t.Errorf("%s %#08x: %v, %s\nwant %s", tt.arch.Name, tt.e, v, got, tt.want)
		} else if _, packs := packed.Of(tt.arch, &rule); v == unwind.Found && !packs {
			t.Errorf("%s %#08x: %s does not fit a packed rule", tt.arch.Name, tt.e, got)
		}
	}
}

// TestExact: where the PC is exact, the entry is a fallback: prologues and epilogues have the
// same one.
func TestExact(t *testing.T) {
	arch := x86.Archs()[0]
	for _, exact := range []bool{false, true} {
		var rule stackwalk.Rule
		q := stackwalk.Query{Image: one(arch, 0x0100_0000), Arch: arch, PC: textAt, Exact: exact}
		if v := (Source{}).Rule(&q, &rule); v != unwind.Found || rule.Flags&stackwalk.Fallback != 0 != exact {
			t.Errorf("exact %t: %v, flags %#x", exact, v, rule.Flags)
		}
	}
}

// TestNotes: what explain says of an entry.
func TestNotes(t *testing.T) {
	x8664, a64 := x86.Archs()[0], arm64.Archs()[0]
	for _, tt := range []struct {
		arch *cpu.Arch
		e    uint32
		want string
	}{
		{x8664, 0x0105_58d1, "frame pointer, registers saved from 40 bytes below it on"},
		{x8664, 0x0208_1800, "no frame pointer, 64 bytes of stack, 6 registers saved"},
		{x8664, 0x0303_2400, "no frame pointer, the size of the stack is the operand at +3 in the function, 1 registers saved"},
		{x8664, 0x5400_0040, "the FDE at 0x40 of __eh_frame"},
		{x8664, 0, "nothing is known of the function"},
		{a64, 0x0400_0001, "frame record at x29"},
		{a64, 0x0200_2000, "no frame record, 32 bytes of stack"},
	} {
		notes := Source{}.Notes(&stackwalk.Query{Image: one(tt.arch, tt.e), Arch: tt.arch, PC: textAt})
		if len(notes) == 0 || !strings.HasSuffix(notes[0], tt.want) {
			t.Errorf("%#x: %q", tt.e, notes)
		}
	}
}

// FuzzEncoding: every encoding is a rule or none, in time that does not depend on it.
func FuzzEncoding(f *testing.F) {
	for _, e := range []uint32{0x0105_58d1, 0x0208_18ff, 0x0303_2400, 0x0400_0911, 0x0200_2001, 0xffff_ffff} {
		f.Add(e)
	}
	archs := append(append(x86.Archs(), arm64.Archs()...), arm.Archs()[0])
	f.Fuzz(func(t *testing.T, e uint32) {
		for _, arch := range archs {
			var rule stackwalk.Rule
			rule.Reset()
			q := stackwalk.Query{Image: one(arch, e), Arch: arch, PC: textAt}
			if v := (Source{}).Rule(&q, &rule); v == unwind.Found && (rule.CFA.Kind != stackwalk.RegPlus || rule.N > 11) {
				t.Errorf("%s %#x: %s", arch.Name, e, rule.Format(arch))
			}
		}
	})
}
