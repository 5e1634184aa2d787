package device_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/device"
)

// TestTasks: of what the ports of FreeRTOS, RT-Thread, ThreadX and Zephyr save of a task, in all of their versions, the reader takes
// the task's registers.
func TestTasks(t *testing.T) {
	for _, b := range device.Boards() {
		t.Run(b.Name, func(t *testing.T) {
			if err := b.Missing(); err != nil {
				t.Skip(err)
			}
			program := filepath.Join(t.TempDir(), "tasks")
			sources := []string{"-O1", "-Wall", "-Wextra", "-Wconversion", "test/tasks.c", "ports/freertos/tasks.c", "ports/rtthread/threads.c", "ports/zephyr/threads.c"}
			if strings.HasPrefix(b.Name, "cortexm") {
				sources = append(sources, "ports/threadx/threads.c")
			}
			if err := b.Build(t.Context(), "../../device", program, sources...); err != nil {
				t.Fatal(err)
			}
			args := append(b.Emulator[1:len(b.Emulator):len(b.Emulator)], "-nographic", "-kernel", program)
			if out, err := child.Command(t.Context(), b.Emulator[0], args...).Output(); err != nil || string(out) != "ok" {
				t.Errorf("%v: %q", err, out)
			}
		})
	}
}
