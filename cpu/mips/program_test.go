package mips

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/cpu"
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
