package vmcore

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/target"
)

// TestVector: where the processor has just entered an exception vector, its registers are those of the code at the
// exception PC that a debugger printed beside the PC.
func TestVector(t *testing.T) {
	const (
		text, loop = 0x8010_0000, 0x8010_0310
		stack      = 0x8020_0000
	)
	mips32, riscv64 := arch(t, mips.Archs(), "mips", 4), arch(t, riscv.Archs(), "riscv64", 8)
	code := make([]byte, 0x1000)
	binary.LittleEndian.PutUint32(code[0x40:], 0x1402_1273) // csrrw tp,sscratch,tp
	var b target.Builder
	b.Add(text, code, 0, target.PermRead|target.PermExec)
	b.Add(stack, make([]byte, 0x1000), 0, target.PermRead|target.PermWrite)
	const both = "\nCP0 Status  0x3400a403 Cause   0x50808000 EPC    0x80100310\n"
	for _, c := range []struct {
		name, regs string
		arch       *cpu.Arch
		had, want  uint64 // the PCs of the dump and of the processor
	}{
		{"MIPS, interrupts", "pc=0x801b6200 HI=0x000b2e05\n sp 80200100 ra 80100200" + both, mips32, 0, loop},
		{"MIPS, a vector per interrupt", "pc=0x801b62e0\n sp 80200100 ra 80100200" + both, mips32, 0, loop},
		{"MIPS, behind the first instruction", "pc=0x801b6204\n sp 80200100 ra 80100200" + both, mips32, 0, 0x801b_6204},
		{"MIPS, in the kernel", "pc=0x80100200\n sp 80200100 ra 80100200" + both, mips32, 0, text + 0x200},
		{"MIPS, in a module", "pc=0xc00a6200\n sp 80200100 ra 80100200" + both, mips32, 0, 0xc00a_6200},
		{"MIPS, not in code", "pc=0x801b6200\n sp 80200100 ra 80100200\nEPC 0x80200310", mips32, 0, 0x801b_6200},
		{"MIPS, EPC alone", "EPC 0x80100310\n sp 80200100 ra 80100200", mips32, 0, loop},
		{"RISC-V", " pc 0000000080100040\n mepc 00000000801008e0\n sepc 0000000080100310\n x2/sp 0000000080200100", riscv64, 0, loop},
		{"RISC-V, no vector", " pc 0000000080100044\n sepc 0000000080100310\n x2/sp 0000000080200100", riscv64, 0, text + 0x44},
		{"RISC-V, beside a dump", " pc 0000000080100040\n sepc 0000000080100310\n x2/sp 0000000080200100", riscv64, text + 0x40, loop},
		{"RISC-V, of another moment", " pc 0000000080100048\n sepc 0000000080100310\n x2/sp 0000000080200100", riscv64, text + 0x40, text + 0x40},
	} {
		file := filepath.Join(t.TempDir(), "registers.txt")
		if err := os.WriteFile(file, []byte(c.regs), 0o600); err != nil {
			t.Fatal(err)
		}
		d := &dump{arch: c.arch}
		if c.had != 0 {
			var regs cpu.Registers
			regs.Set(c.arch.PC, c.had)
			regs.Set(c.arch.SP, stack+0x100)
			d.cpus = []cpu.Registers{regs}
		}
		if err := d.takeRegisters(&input.Env{Archs: cpu.Set{c.arch}, Regs: file}); err != nil || len(d.cpus) != 1 {
			t.Errorf("%s: %v, %d processors", c.name, err, len(d.cpus))
			continue
		}
		v := &view{space: space{memory: b.Memory(c.arch)}, kernel: kernelImage{text: target.Range{Lo: text, Hi: text + 0x1000}}}
		said := v.leaveVector(c.arch, &d.cpus[0], d.epc)
		left := c.want == loop && d.epc != 0
		if pc := d.cpus[0].Val[c.arch.PC]; pc != c.want || len(d.issues) > 0 || (said != "") != left {
			t.Errorf("%s: PC %#x, want %#x, %q, %v", c.name, pc, c.want, said, d.issues)
		}
	}
}

func arch(t *testing.T, archs cpu.Set, name string, size int) *cpu.Arch {
	t.Helper()
	for _, a := range archs {
		if a.Name == name && a.AddrSize == size && !a.BigEndian {
			return a
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

// TestVectorsOfARM64: the kernel's own four of 16 vectors begin alike. What only looks like one of them is none.
func TestVectorsOfARM64(t *testing.T) {
	const text = 0xffff_8000_0801_0000
	const vectors, other = text + 0x800, text + 0x1000
	const subSP, nop = 0xd105_43ff, 0xd503_201f // sub sp,sp,#0x150
	code := make([]byte, 0x2000)
	for at := uint64(0x200); at < 0x400; at += 0x80 {
		binary.LittleEndian.PutUint32(code[vectors-text+at:], subSP)
	}
	binary.LittleEndian.PutUint32(code[other-text+0x280:], subSP) // a function
	binary.LittleEndian.PutUint32(code[other-text+0x200:], nop)
	a := arch(t, arm64.Archs(), "aarch64", 8)
	var b target.Builder
	b.Add(text, code, 0, target.PermRead|target.PermExec)
	v := &view{space: space{memory: b.Memory(a)}, kernel: kernelImage{text: target.Range{Lo: text, Hi: text + 0x2000}}}
	for pc, want := range map[uint64]bool{
		vectors + 0x200: true, vectors + 0x280: true, vectors + 0x380: true, vectors + 0x284: false, vectors + 0x400: false, vectors: false,
		other + 0x280: false, text - 0x800 + 0x280: false, 0: false,
	} {
		if got := v.isVector(a, pc); got != want {
			t.Errorf("%#x: %t", pc, got)
		}
	}
}
