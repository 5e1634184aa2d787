package disassemble_test

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/disassemble"
)

func archNamed(t testing.TB, name, abi string, big bool) *cpu.Arch {
	t.Helper()
	a, ok := backsight.CPUs().ByName(name, abi, big)
	if !ok {
		t.Fatalf("no %s %s", name, abi)
	}
	return a
}

// TestText: an instruction of each processor, at 0x10000; branch targets are addresses.
func TestText(t *testing.T) {
	for _, tt := range []struct {
		arch *cpu.Arch
		word uint32
		want string
	}{
		{archNamed(t, "mips", "o32", true), 0x27bdffe0, "addiu sp,sp,-32"},
		{archNamed(t, "mips", "o32", true), 0xafbf001c, "sw ra,28(sp)"},
		{archNamed(t, "mips", "o32", true), 0x1060ffff, "beq v1,zero,0x10000"},
		{archNamed(t, "mips", "o32", true), 0x0c004010, "jal 0x10040"},
		{archNamed(t, "mips", "o32", true), 0x00801025, "move v0,a0"},
		{archNamed(t, "mips", "o32", true), 0x7c03e83b, "rdhwr v1,$29"},
		{archNamed(t, "mips64", "n64", false), 0xdfbc0010, "ld gp,16(sp)"},
		{archNamed(t, "aarch64", "", false), 0xa9bf7bfd, "stp x29, x30, [sp,#-16]!"},
		{archNamed(t, "aarch64", "", false), 0x94000010, "bl 0x10040"},
		{archNamed(t, "arm", "", false), 0xe92d4010, "push {r4, lr}"},
		{archNamed(t, "arm", "", false), 0xeb00000e, "bl 0x10040"},
		{archNamed(t, "arm", "", false), 0xeaff7ffe, "b 0xffff0000"},
		{archNamed(t, "riscv64", "lp64d", false), 0xfe010113, "addi sp,sp,-32"},
		{archNamed(t, "riscv64", "lp64d", false), 0x00b51463, "bne a0,a1,0x10008"},
		{archNamed(t, "riscv32", "ilp32", false), 0x00002001, ""},
		{archNamed(t, "x86_64", "", false), 0xc3e58948, "mov %rsp,%rbp"},
		{archNamed(t, "i386", "", false), 0x00000055, "push %ebp"},
	} {
		var code [4]byte
		if binary.LittleEndian.PutUint32(code[:], tt.word); tt.arch.BigEndian {
			binary.BigEndian.PutUint32(code[:], tt.word)
		}
		if got := disassemble.Text(tt.arch, code[:], 0x10000, 0); got != tt.want {
			t.Errorf("%s %#08x: %q, want %q", tt.arch, tt.word, got, tt.want)
		}
	}
}

// FuzzText: any bytes of any processor are a text or none.
func FuzzText(f *testing.F) {
	archs := backsight.CPUs()
	f.Add([]byte{0x27, 0xbd, 0xff, 0xe0}, uint8(0), uint64(0x1000))
	f.Fuzz(func(t *testing.T, code []byte, n uint8, pc uint64) {
		for mode := range cpu.Mode(2) {
			disassemble.Text(archs[int(n)%len(archs)], code, pc, mode)
		}
	})
}
