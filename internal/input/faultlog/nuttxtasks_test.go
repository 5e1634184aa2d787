package faultlog

import (
	"fmt"
	"slices"
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

// TestTasksWithoutList: the tasks of a table are threads where no chains follow, but the one that crashed.
func TestTasksWithoutList(t *testing.T) {
	s, err := open("up_dump_register: EPC: 80001258\nup_dump_register: A0: 00000002 A1: 00000000 A2: 0200bff8 A3: 00000000\n" +
		"up_dump_register: SP: 80005ce0 FP: 80004024 TP: 00000000 RA: 80001262\n" +
		"dump_tasks:    PID GROUP PRI POLICY   TYPE    NPX STATE   EVENT      SIGMASK          STACKBASE  STACKSIZE      USED   FILLED    COMMAND\n" +
		"dump_task:       0     0   0 FIFO     Kthread -   Ready              0000000000000000 0x8000a040      2032       752    37.0%    Idle_Task\n" +
		"dump_task:       1     1 224 RR       Kthread -   Waiting Semaphore  0000000000000000 0x8000b810      1960       396    20.2%    hpwork\n" +
		"dump_task:       2     2 100 RR       Task    -   Running            0000000000000000 0x8000c040      2024      1080    53.3%    crash\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, th := range s.Threads[1:] {
		got = append(got, fmt.Sprintf("%s %s %d", th.Name, th.Task.State, th.Task.Priority))
	}
	if want := []string{"Idle_Task ready 0", "hpwork waiting 224"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestShortCause: a report begins with a cause of one digit, as Zephyr prints a breakpoint: other readers take the
// registers behind for those of their systems.
func TestShortCause(t *testing.T) {
	for line, want := range map[string]bool{" mcause: 3, Breakpoint": true, "  mtval: 0": false} {
		if got := interesting(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
