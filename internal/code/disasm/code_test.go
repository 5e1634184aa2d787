package disasm

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestPointers: bit 0 of an ARM code pointer is the mode; keys sort by address.
// Where the file says that all code is of mode 0, no pointer means another.
func TestPointers(t *testing.T) {
	arm := code(t, codetest.Program{CPU: "arm", Listing: "1000: 4770 4770"})
	for p, want := range map[uint64]Addr{0x1000: {0x1000, 0}, 0x1003: {0x1002, 1}} {
		got, ok := arm.Pointer(p)
		if !ok || got != want || arm.Addr(got.Key()) != got || got.Key() != p {
			t.Errorf("%#x means %+v, key %#x", p, got, got.Key())
		}
	}
	if to, ok := arm.Pointer(0x2001); ok {
		t.Errorf("code at %+v", to)
	}
	mips := code(t, codetest.Program{CPU: "mips o32", OneMode: true, Listing: "1000: 0800e003 00000000"})
	if to, ok := mips.Pointer(0x1001); ok {
		t.Errorf("a file without code of a second instruction set has some at %+v", to)
	}
	x86 := code(t, codetest.Program{CPU: "x86_64", Listing: "1000: 90 c3"})
	if to, ok := x86.Pointer(0x1001); !ok || to != at(0x1001) || x86.Addr(0x1001) != at(0x1001) {
		t.Errorf("x86's code at an odd address is %+v", to)
	}
}

// TestSkipPadding: filler between functions, of which there may be much but not without end.
func TestSkipPadding(t *testing.T) {
	c := code(t, codetest.Program{CPU: "x86_64", Listing: `
		1000: c3
		1001: 66 0f 1f 44 00 00  nopw 0(%rax,%rax)
		1007: 90                 nop
		1008: cc                 int3
		1009: c3`})
	for from, want := range map[uint64]uint64{0x1000: 0x1000, 0x1001: 0x1009, 0x1007: 0x1009, 0x1009: 0x1009, 0x2000: 0x2000} {
		if got := c.SkipPadding(at(from)); got != want {
			t.Errorf("behind the padding from %#x on comes %#x, want %#x", from, got, want)
		}
	}
	for from, want := range map[uint64]uint64{0x1000: 0x1000, 0x1001: 0x1007} {
		if got := c.SkipFiller(at(from)); got != want {
			t.Errorf("behind the filler at %#x comes %#x, want %#x", from, got, want)
		}
	}
	endless := code(t, codetest.Program{CPU: "x86_64", Listing: "1000: " + strings.Repeat("90 ", 10000)})
	if got := endless.SkipPadding(at(0x1000)); got != 0x1000+maxPadding {
		t.Errorf("%d bytes are skipped", got-0x1000)
	}
}

// TestReturnAddress: behind the call, and behind its delay slot.
func TestReturnAddress(t *testing.T) {
	for _, tt := range []struct {
		cpu, listing string
		want         uint64 // 0: no call
	}{
		{"x86_64", "1000: e8 0b 00 00 00  call 1010", 0x1005},
		{"x86_64", "1000: ff d0           call *%rax", 0x1002},
		{"x86_64", "1000: c3              ret", 0},
		{"x86_64", "1000: e8 0b 00        cut off", 0},
		{"mips o32 big", "1000: 0c000000 00000000  jal 0; nop", 0x1008},
		{"mips o32 big", "1000: 0c000000           the code ends before the slot", 0x1004},
		{"aarch64", "1000: 94000000  bl 1000", 0x1004},
	} {
		if got, ok := code(t, codetest.Program{CPU: tt.cpu, Listing: tt.listing}).ReturnAddress(at(0x1000)); got != tt.want || ok != (tt.want != 0) {
			t.Errorf("%s, %s: %#x", tt.cpu, tt.listing, got)
		}
	}
}

// TestInsnSize: only code of instructions that all have one size can be read upwards.
func TestInsnSize(t *testing.T) {
	for _, tt := range []struct {
		cpu  string
		mode cpu.Mode
		want uint64
	}{
		{"mips o32 big", 0, 4}, {"mips o32 big", 1, 0}, {"aarch64", 0, 4}, {"arm", 0, 4}, {"arm", 1, 0}, {"riscv64", 0, 0}, {"x86_64", 0, 0}, {"i386", 0, 0},
	} {
		if got := code(t, codetest.Program{CPU: tt.cpu, Listing: "1000: 00"}).InsnSize(tt.mode); got != tt.want {
			t.Errorf("%s, mode %d: %d", tt.cpu, tt.mode, got)
		}
	}
}

// TestClassify: what single instructions are to the analyses.
func TestClassify(t *testing.T) {
	type kind struct{ transfers, indirect, literal, savesLR, writesLR, lowersSP bool }
	for _, tt := range []struct {
		cpu, listing string
		mode         cpu.Mode
		want         kind
	}{
		{"mips o32 big", "1000: 27bdffe8  addiu sp,sp,-24", 0, kind{lowersSP: true}},
		{"mips o32 big", "1000: 27bd0018  addiu sp,sp,24", 0, kind{}},
		{"mips o32 big", "1000: afbf0014  sw ra,20(sp)", 0, kind{savesLR: true}},
		{"mips o32 big", "1000: 8fbf0014  lw ra,20(sp)", 0, kind{writesLR: true}},
		{"mips o32 big", "1000: 03e00008  jr ra", 0, kind{transfers: true}},
		{"mips o32 big", "1000: 03200008  jr t9", 0, kind{transfers: true, indirect: true}},
		{"mips o32 big", "1000: 04110001 00000000 03e04025  bal .+8; nop; move t0,ra", 0, kind{writesLR: true}},
		{"mips o32 big", "1000: 04110001 00000000 27bdffe8  bal .+8; nop; addiu sp,sp,-24", 0, kind{transfers: true, writesLR: true}},
		{"mips o32 big", "1000: 0c000000  jal 0", 0, kind{transfers: true, writesLR: true}},
		{"arm", "1000: e92d4010  push {r4,lr}", 0, kind{savesLR: true, lowersSP: true}},
		{"arm", "1000: e8bd8010  pop {r4,pc}", 0, kind{transfers: true}},
		{"arm", "1000: e59f3008  ldr r3,[pc,#8]", 0, kind{literal: true}},
		{"aarch64", "1000: a9be7bfd  stp x29,x30,[sp,#-32]!", 0, kind{savesLR: true, lowersSP: true}},
		{"x86_64", "1000: 53  push %rbx", 0, kind{lowersSP: true}},
		{"x86_64", "1000: ff 25 00 10 00 00  jmp *0x1000(%rip)", 0, kind{transfers: true, indirect: true}},
		{"x86_64", "1000: 0f 0b  ud2", 0, kind{transfers: true}},
		{"i386", "1000: e8 00 00 00 00  call 1005", 0, kind{}},
	} {
		c := code(t, codetest.Program{CPU: tt.cpu, Listing: tt.listing, Mode: tt.mode})
		var in cpu.Insn
		if !c.One(Addr{0x1000, tt.mode}, &in) {
			t.Fatal(tt.listing)
		}
		got := kind{Transfers(&in, c.Arch), in.Op == cpu.OpJump && IndirectJump(&in), IsLiteral(&in), SavesLR(&in, c.Arch), c.Arch.LR != cpu.NoReg && in.Writes(c.Arch.LR), LowersSP(&in, c.Arch)}
		if got != tt.want {
			t.Errorf("%s, %s: %+v", tt.cpu, tt.listing, got)
		}
	}
}
