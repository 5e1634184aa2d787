package faultlog

import (
	"fmt"
	"testing"
)

// TestTaskTable: state, priority and stack by the columns that a build prints; a name stands behind them, and arguments behind the name.
func TestTaskTable(t *testing.T) {
	const whole = "dump_tasks:    PID GROUP CPU PRI POLICY   TYPE    NPX STATE   EVENT      SIGMASK          STACKBASE  STACKSIZE      USED   FILLED    COMMAND"
	const plain = "dump_tasks:    PID GROUP PRI POLICY   TYPE    NPX STATE   EVENT      SIGMASK  STACKBASE  STACKSIZE   COMMAND"
	for _, c := range []struct{ head, row, want string }{
		{whole, "dump_task:  11 11 0 100 RR Task - Waiting MQ empty 0000000000000000 0x3c020000 2024 800 40.0% worker 5 fast",
			"task 11 worker waiting 100 true 0x3c020000-0x3c0207e8"},
		{plain, "dump_task:  0 0 0 FIFO Kthread - Assigned 00000000 0x3c000000 1000 Idle_Task", "task 0 Idle_Task ready 0 true 0x3c000000-0x3c0003e8"},
		{plain, "dump_task:  12 12 100 RR Task - Stopped 00000000 0x3c000000 -1 a.out", "task 12 a.out suspended 100 true 0x0-0x0"},
		{"", "dump_task:  13 13 100 RR Task - Running 00000000 0x3c000000 8", "task 13 8  0 false 0x0-0x0"},
		{plain, "dump_task:  14 14 high", "task 14 high  0 false 0x0-0x0"},
	} {
		var table taskTable
		if (c.head != "" && !table.take(c.head)) || !table.take(c.row) {
			t.Fatalf("%q is not read", c.row)
		}
		n := table.rows[0]
		got := fmt.Sprintf("%s %s %s %d %t %#x-%#x", n.number, n.name, n.task.State, n.task.Priority, n.task.HasPriority, n.stack.Lo, n.stack.Hi)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.row, got, c.want)
		}
	}
	if (&taskTable{}).take("dump_stack: 0x3c020000") {
		t.Error("another line is taken")
	}
}
