package device_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
	form "github.com/backsight/backsight/internal/tables/device"
	"github.com/backsight/backsight/lab/device"
	"github.com/backsight/backsight/lab/score"
)

// sanitized is device/test/fuzz.c under the address and undefined-behaviour sanitizers.
func sanitized(t *testing.T, machine ...string) (program string) {
	t.Helper()
	if !device.Available() {
		t.Skip("no C compiler")
	}
	program = filepath.Join(t.TempDir(), "fuzz")
	args := append([]string{"-std=c99", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DBS_NO_BACKTRACE",
		"-o", program, "../../device/test/fuzz.c", "../../device/backsight.c"}, machine...)
	if out, err := exec.CommandContext(t.Context(), device.Compiler, args...).CombinedOutput(); err != nil {
		t.Skipf("no sanitizers: %v: %s", err, out)
	}
	return program
}

// TestReaderSurvives: random tables, registers and stacks. device/test/fuzz.c takes any number of walks by hand.
func TestReaderSurvives(t *testing.T) {
	for _, machine := range [][]string{{"-DBS_MACHINE=40", "-DBS_WORD=4"}, {"-DBS_MACHINE=183", "-DBS_WORD=8"}} {
		if out, err := exec.CommandContext(t.Context(), sanitized(t, machine...), "1", "100000").CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", machine, err, out)
		}
	}
}

// TestFlippedBit: a table of which one bit is another, whichever, is not read beyond its end, also
// where nobody has checked it.
func TestFlippedBit(t *testing.T) {
	c := recorded.Cases(t, "cortexm3/bare-gcc-Os")[0]
	images, cleanup, err := c.Images("naked")
	if err != nil {
		t.Fatal(err)
	}
	defer cleanup()
	files := backsight.NewFiles(input.FileOptions{Images: score.Named(images)})
	defer files.Close()
	img, err := files.Open(images[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := backsight.ListRules(t.Context(), img)
	if err != nil {
		t.Fatal(err)
	}
	table, _, err := form.Encode(rules)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "table")
	if err := os.WriteFile(file, table, 0o644); err != nil {
		t.Fatal(err)
	}
	program := sanitized(t, "-DBS_MACHINE=40", "-DBS_WORD=4")
	if out, err := exec.CommandContext(t.Context(), program, "bits", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %.1000s", err, out)
	}
}

// TestSourcesSurvive: random .eh_frame, .ARM.exidx and code, for each machine; nothing outside the module is read.
// device/test/sources.c takes any number of modules by hand.
func TestSourcesSurvive(t *testing.T) {
	if !device.Available() {
		t.Skip("no C compiler")
	}
	sources := []string{"../../device/test/sources.c"}
	for _, name := range []string{"frames", "exidx", "code", "code_mips", "code_riscv", "code_arm64", "code_arm", "code_x86"} {
		sources = append(sources, "../../device/ports/linux/"+name+".c")
	}
	for _, m := range [][2]string{{"8", "4"}, {"8", "8"}, {"40", "4"}, {"3", "4"}, {"62", "8"}, {"183", "8"}, {"243", "4"}, {"243", "8"}} {
		program := filepath.Join(t.TempDir(), "sources")
		args := append([]string{"-std=c99", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-w", "-DBS_NO_BACKTRACE",
			"-DBS_MACHINE=" + m[0], "-DBS_WORD=" + m[1], "-o", program}, sources...)
		if out, err := exec.CommandContext(t.Context(), device.Compiler, args...).CombinedOutput(); err != nil {
			t.Skipf("no sanitizer: %v: %s", err, out)
		}
		if out, err := exec.CommandContext(t.Context(), program, "1", "1000").CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", m, err, out)
		}
	}
}
