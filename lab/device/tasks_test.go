package device_test

import (
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/device"
)

// TestTasks: of what FreeRTOS' ports save of a task, in all of their versions, the reader takes the task's registers.
func TestTasks(t *testing.T) {
	for _, b := range device.Boards() {
		t.Run(b.Name, func(t *testing.T) {
			if err := b.Missing(); err != nil {
				t.Skip(err)
			}
			program := filepath.Join(t.TempDir(), "tasks")
			if err := b.Build(t.Context(), "../../device", program, "-O1", "-Wall", "-Wextra", "-Wconversion", "test/tasks.c", "ports/freertos/tasks.c"); err != nil {
				t.Fatal(err)
			}
			args := append(b.Emulator[1:len(b.Emulator):len(b.Emulator)], "-nographic", "-kernel", program)
			if out, err := child.Command(t.Context(), b.Emulator[0], args...).Output(); err != nil || string(out) != "ok" {
				t.Errorf("%v: %q", err, out)
			}
		})
	}
}
