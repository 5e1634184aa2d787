package mips

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/difftest"
)

const truth = "../../../shared/truth"

// long asks for the tests that take more than a few seconds.
func long() bool { return os.Getenv("BACKSIGHT_LONG") != "" }

// realProgram is a compiled program and how to read it.
type realProgram struct {
	name       string
	arch       *cpu.Arch
	compressed encoding
	path       string
}

// TestPrograms compares effects, return addresses and direct calls with objdump
// over real programs.
func TestPrograms(t *testing.T) {
	for _, p := range realPrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			lines := objdump(t, p.arch.BigEndian, "-d", p.path)
			check(t, p.arch, p.compressed, lines)
			checkCallBefore(t, p, lines)
			checkCalls(t, p, lines)
		})
	}
}

// realPrograms are recorded programs, one compiled for microMIPS, and in the long
// run the libraries of the cross compilers.
func realPrograms(t *testing.T) []realProgram {
	t.Helper()
	var list []realProgram
	for _, c := range []struct {
		path, abi  string
		big        bool
		v          variant
		compressed encoding
		long       bool
	}{
		{recorded("mips"), "o32", true, plain, inWords, false},
		{recorded("mipsr6"), "o32", true, release6, inWords, false},
		{recorded("mips64el"), "n64", false, plain, inWords, false},
		{recorded("mips16"), "o32", true, plain, inMIPS16, false},
		{recorded("mipsel"), "o32", false, plain, inWords, true},
		{recorded("mips64"), "n64", true, plain, inWords, true},
		{recorded("mipsn32"), "n32", true, plain, inWords, true},
		{"/usr/mips-linux-gnu/lib/libc.so.6", "o32", true, plain, inWords, true},
		{"/usr/mipsel-linux-gnu/lib/libc.so.6", "o32", false, plain, inWords, true},
		{"/usr/mips64-linux-gnuabi64/lib/libc.so.6", "n64", true, plain, inWords, true},
		{"/usr/mips64el-linux-gnuabi64/lib/libc.so.6", "n64", false, plain, inWords, true},
		{"/usr/mips64-linux-gnuabi64/libn32/libc.so.6", "n32", true, plain, inWords, true},
	} {
		if _, err := os.Stat(c.path); err == nil && (long() || !c.long) {
			name := filepath.Base(filepath.Dir(filepath.Dir(c.path)))
			list = append(list, realProgram{name, archOf(t, c.abi, c.big, c.v), c.compressed, c.path})
		}
	}
	if path, ok := compileMicro(t); ok {
		list = append(list, realProgram{"micromips", archOf(t, "o32", true, microMIPS), inMicro, path})
	}
	if len(list) == 0 {
		t.Skip("no programs")
	}
	return list
}

// TestFurtherPrograms compares the effects in them.
func TestFurtherPrograms(t *testing.T) {
	for _, p := range furtherPrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			check(t, p.arch, p.compressed, objdump(t, p.arch.BigEndian, "-d", p.path))
		})
	}
}

// furtherPrograms are what BACKSIGHT_BINARIES names: o32, but for those of 64 bits, and
// in mode 1 microMIPS or MIPS16 as their flags say.
func furtherPrograms(t *testing.T) (list []realProgram) {
	const flagMIPS16, flagMicro = 0x0400_0000, 0x0200_0000 // EF_MIPS_ARCH_ASE_M16, EF_MIPS_MICROMIPS
	for _, path := range difftest.Files(elf.EM_MIPS, nil) {
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		abi, big := "o32", f.ByteOrder == binary.BigEndian
		if f.Class == elf.ELFCLASS64 {
			abi = "n64"
		}
		p := realProgram{path, archOf(t, abi, big, plain), inWords, path}
		switch flags := flagsOf(f, path); {
		case flags&flagMicro != 0:
			p.arch, p.compressed = archOf(t, abi, big, microMIPS), inMicro
		case flags&flagMIPS16 != 0:
			p.compressed = inMIPS16
		}
		f.Close()
		list = append(list, p)
	}
	return list
}

// flagsOf reads e_flags, which debug/elf leaves out.
func flagsOf(f *elf.File, path string) uint32 {
	head, err := os.ReadFile(path)
	if err != nil || len(head) < 64 {
		return 0
	}
	if f.Class == elf.ELFCLASS64 {
		return f.ByteOrder.Uint32(head[48:])
	}
	return f.ByteOrder.Uint32(head[36:])
}

func recorded(arch string) string {
	return filepath.Join(truth, "public", arch, "pub-gcc-O2", "sym.elf")
}

// compileMicro makes a microMIPS object file of a C program.
func compileMicro(t *testing.T) (string, bool) {
	t.Helper()
	const tool = "mips-linux-gnu-gcc"
	source := filepath.Join(truth, "src", "flow.c")
	if _, err := os.Stat(source); err != nil {
		return "", false
	}
	if _, err := exec.LookPath(tool); err != nil {
		return "", false
	}
	object := filepath.Join(t.TempDir(), "flow.o")
	cmd := exec.Command(tool, "-O2", "-mmicromips", "-mips32r2", "-w", "-fno-pic", "-mno-abicalls",
		"-c", source, "-o", object)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%s: %v\n%s", tool, err, out)
		return "", false
	}
	return object, true
}
