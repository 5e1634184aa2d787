package device_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/lab/device"
	"github.com/backsight/backsight/lab/score"
	form "github.com/backsight/backsight/tables/device"
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

// TestFlippedHeader: a table of which one bit of the header is another, whichever, is not read beyond its end, also
// where nobody has checked it.
func TestFlippedHeader(t *testing.T) {
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
	if out, err := exec.CommandContext(t.Context(), program, "header", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %.1000s", err, out)
	}
}
