package hostile_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/lab/hostile"
)

// TestCosts runs the command over all cases at a tenth of their size: memory in
// proportion to the input, no crash, no silence.
func TestCosts(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command")
	}
	command := filepath.Join(t.TempDir(), "backsight")
	build := exec.Command("go", "build", "-o", command, "github.com/backsight/backsight/cmd/backsight")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ran := 0
	err := hostile.Run(t.Context(), t.TempDir(), hostile.Options{Command: command, Scale: 10, Untimed: true}, func(r hostile.Result) {
		ran++
		if r.Wrong != "" {
			t.Errorf("%s, %d bytes of %s: %s (exit %d, %v, %d MB)", r.Name, r.Input, r.What, r.Wrong, r.Exit, r.CPU, r.Memory>>20)
		}
	})
	if err != nil || ran != len(hostile.Cases()) {
		t.Errorf("%d of %d cases ran: %v", ran, len(hostile.Cases()), err)
	}
}
