package render

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// waitText is where in the kernel a thread waits: in futex (futex_wait_queue).
func waitText(k *target.Task) string {
	switch {
	case k.Call != "" && k.Channel != "":
		return " in " + k.Call + " (" + k.Channel + ")"
	case k.Call+k.Channel != "":
		return " in " + k.Call + k.Channel
	}
	return ""
}

// taskText is what a real-time kernel knows of a thread, "" for nothing:
//
//	waiting, priority 5, 312 of 1024 bytes of stack never used
func taskText(t *report.Thread) string {
	k := t.Task
	if k == nil || k.Goroutine != nil {
		return ""
	}
	var parts []string
	if k.State != "" {
		parts = append(parts, k.State+waitText(k))
	}
	if k.HasPriority {
		parts = append(parts, fmt.Sprintf("priority %d", k.Priority))
	}
	size := fmt.Sprint(t.Stack.Hi - t.Stack.Lo)
	if k.AtMost {
		size = "at most " + size
	}
	switch {
	case k.Overflown:
		parts = append(parts, fmt.Sprintf("STACK OVERFLOW: its end at %#x was overwritten", t.Stack.Lo))
	case k.Filled && k.Unused == 0:
		parts = append(parts, fmt.Sprintf("none of %s bytes of stack never used: full, or overflowed", size))
	case k.Filled:
		parts = append(parts, fmt.Sprintf("%d of %s bytes of stack never used", k.Unused, size))
	}
	return strings.Join(parts, ", ")
}
