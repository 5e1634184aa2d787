package disassemble_test

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/disassemble"
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
		{archNamed(t, "mips", "o32", true), 0x7c843a00, "ext a0,a0,8,8"},
		{archNamed(t, "mips", "o32", true), 0x7c659004, "ins a1,v1,0,19"},
		{archNamed(t, "mips", "o32", true), 0x46220082, "mul.d $f2,$f0,$f2"},
		{archNamed(t, "mips", "o32", true), 0x46201137, "c.ule.d $fcc1,$f2,$f0"},
		{archNamed(t, "mips", "o32", true), 0x46201037, "c.ule.d $f2,$f0"},
		{archNamed(t, "mips", "o32", true), 0x45040003, "bc1f $fcc1,0x10010"},
		{archNamed(t, "mips", "o32", true), 0x4442f800, "cfc1 v0,c1_fcsr"},
		{archNamed(t, "mips64", "n64", false), 0xdfbc0010, "ld gp,16(sp)"},
		{archNamed(t, "aarch64", "", false), 0xa9bf7bfd, "stp x29, x30, [sp,#-16]!"},
		{archNamed(t, "aarch64", "", false), 0x94000010, "bl 0x10040"},
		{archNamed(t, "aarch64", "", false), 0x54fffec1, "b.ne 0xffd8"},
		{archNamed(t, "aarch64", "", false), 0x900000d0, "adrp x16, 0x28000"},
		{archNamed(t, "arm", "", false), 0xe92d4010, "push {r4, lr}"},
		{archNamed(t, "arm", "", false), 0xeb00000e, "bl 0x10040"},
		{archNamed(t, "arm", "", false), 0xf401024d, "vst1.16 {d0-d3}, [r1]!"},
		{archNamed(t, "arm", "", false), 0xeaff7ffe, "b 0xffff0000"},
		{archNamed(t, "riscv64", "lp64d", false), 0xfe010113, "addi sp,sp,-32"},
		{archNamed(t, "riscv64", "lp64d", false), 0x00b51463, "bne a0,a1,0x10008"},
		{archNamed(t, "riscv32", "ilp32", false), 0x00002001, "jal 0x10000"},
		{archNamed(t, "riscv32", "ilp32", false), 0x0000b7ed, "j 0xffea"},
		{archNamed(t, "riscv32", "ilp32", false), 0x000037ed, "jal 0xffea"},
		{archNamed(t, "riscv64", "lp64d", false), 0x00003116, "fld ft2,352(sp)"},
		{archNamed(t, "riscv64", "lp64d", false), 0x000075dd, "lui a1,0xffff7"},
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

// TestGoroutines: instructions are written by two goroutines at once, under the race detector: decoders of other makers
// keep variables of their packages.
func TestGoroutines(t *testing.T) {
	code := []byte{0x13, 0x01, 0x01, 0xfe}
	for _, arch := range []*cpu.Arch{
		archNamed(t, "arm", "", false), archNamed(t, "aarch64", "", false), archNamed(t, "riscv64", "lp64d", false),
		archNamed(t, "mips", "o32", false), archNamed(t, "x86_64", "", false),
	} {
		texts := make(chan string)
		for range 2 {
			go func() { texts <- disassemble.Text(arch, code, 0x10000, 0) }()
		}
		if a, b := <-texts, <-texts; a != b {
			t.Errorf("%s: %q and %q", arch.Name, a, b)
		}
	}
}

// TestX86: displacements are signed, and zero is one where nothing else is the address.
func TestX86(t *testing.T) {
	for _, tt := range []struct {
		cpu  string
		code []byte
		want string
	}{
		{"x86_64", []byte{0x48, 0x89, 0x8d, 0x08, 0xfb, 0xff, 0xff}, "mov %rcx,-0x4f8(%rbp)"},
		{"i386", []byte{0x89, 0x95, 0x58, 0xfb, 0xff, 0xff}, "mov %edx,-0x4a8(%ebp)"},
		{"x86_64", []byte{0x41, 0x0f, 0x11, 0x04, 0x24}, "movups %xmm0,(%r12)"},
		{"i386", []byte{0x65, 0x03, 0x05, 0, 0, 0, 0}, "add %gs:0x0,%eax"},
		{"i386", []byte{0xa3, 0, 0, 0, 0}, "mov %eax,0x0"},
		{"x86_64", []byte{0xe8, 0xfb, 0xff, 0xff, 0xff}, "callq 0x10000"},
	} {
		if got := disassemble.Text(archNamed(t, tt.cpu, "", false), tt.code, 0x10000, 0); got != tt.want {
			t.Errorf("%s % x: %q, want %q", tt.cpu, tt.code, got, tt.want)
		}
	}
}

// TestRelease6: opcodes that release 6 gave to other instructions, as binutils' objdump writes
// them, and what they were before; "" where release 6 has nothing there.
func TestRelease6(t *testing.T) {
	before := archNamed(t, "mips64", "n64", true)
	var after *cpu.Arch
	for _, a := range backsight.CPUs() {
		if a.Name == "mips64" && a.ABI == "n64" && a.BigEndian && a.ELF.Flags == 0xa000_0000 { // EF_MIPS_ARCH_64R6
			after = a
		}
	}
	for _, tt := range []struct {
		word         uint32
		before, want string
	}{
		{0x2100c459, "addi zero,a4,-15271", "bovc a4,zero,0x1168"},
		{0x20041000, "addi a0,zero,4096", "beqzalc a0,0x14004"},
		{0x20851000, "addi a1,a0,4096", "beqc a0,a1,0x14004"},
		{0x58040003, "blezl zero,0x10010", "blezc a0,0x10010"},
		{0x58840003, "blezl a0,0x10010", "bgezc a0,0x10010"},
		{0x58850003, "blezl a0,0x10010", "bgec a0,a1,0x10010"},
		{0x18040003, "blez zero,0x10010", "blezalc a0,0x10010"},
		{0x1c800003, "bgtz a0,0x10010", "bgtz a0,0x10010"},
		{0xd8190000, "", "jic t9,0"},
		{0xf8190010, "", "jialc t9,16"},
		{0xd89fffff, "", "beqzc a0,0x10000"},
		{0xe8000003, "", "balc 0x10010"},
		{0xec9e0001, "", "auipc a0,0x1"},
		{0xec800002, "", "addiupc a0,0x10008"},
		{0x3c850001, "lui a1,0x1", "aui a1,a0,0x1"},
		{0x00851098, "mult a0,a1", "mul v0,a0,a1"},
		{0x008510db, "divu a0,a1", "modu v0,a0,a1"},
		{0x00851045, "", "lsa v0,a0,a1,2"},
		{0x0085100b, "movn v0,a0,a1", ""},
		{0x03e00008, "jr ra", ""},
		{0x03e00009, "jalr zero,ra", "jr ra"},
		{0x7c85ffb6, "", "ll a1,-1(a0)"},
		{0x88850000, "lwl a1,0(a0)", ""},
		{0xec980001, "", "ldpc a0,0x10008"},
		{0xcca40000, "pref 0x4,0(a1)", ""},
		{0x45000003, "bc1f 0x10010", ""},
		{0x46201037, "c.ule.d $f2,$f0", ""},
		{0x00251882, "ror v1,a1,2", "ror v1,a1,2"},
	} {
		code := binary.BigEndian.AppendUint32(nil, tt.word)
		if got := disassemble.Text(before, code, 0x10000, 0); got != tt.before {
			t.Errorf("%#08x before: %q, want %q", tt.word, got, tt.before)
		}
		if got := disassemble.Text(after, code, 0x10000, 0); got != tt.want {
			t.Errorf("%#08x: %q, want %q", tt.word, got, tt.want)
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
