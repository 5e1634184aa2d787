package device_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/lab/device"
)

// TestReaderSurvives: random tables, registers and stacks, under the address and
// undefined-behaviour sanitizers. device/test/fuzz.c takes any number of walks by hand.
func TestReaderSurvives(t *testing.T) {
	if !device.Available() {
		t.Skip("no C compiler")
	}
	for _, machine := range [][]string{{"-DBS_MACHINE=40", "-DBS_WORD=4"}, {"-DBS_MACHINE=183", "-DBS_WORD=8"}} {
		program := filepath.Join(t.TempDir(), "fuzz")
		args := append([]string{"-std=c99", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DBS_NO_BACKTRACE",
			"-o", program, "../../device/test/fuzz.c", "../../device/backsight.c"}, machine...)
		if out, err := exec.CommandContext(t.Context(), device.Compiler, args...).CombinedOutput(); err != nil {
			t.Skipf("no sanitizers: %v: %s", err, out)
		}
		if out, err := exec.CommandContext(t.Context(), program, "1", "100000").CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", machine, err, out)
		}
	}
}
