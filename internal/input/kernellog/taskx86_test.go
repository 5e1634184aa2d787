package kernellog

import (
	"strings"
	"testing"
)

// TestTasksOfX86: how lists of tasks, the detector of hung tasks and RCU begin with a task before Linux 5.12.
func TestTasksOfX86(t *testing.T) {
	const log = `
SysRq : Show State
init            S ffff88007d1a8000     0     1      0 0x00000000
 ffff88007d1b1a58 0000000000000086 ffff88007d1a8000 ffff88007d1b2000
Call Trace:
 [<ffffffff81560f57>] schedule+0x37/0x90
 [<ffffffff8101d2de>] system_call_fastpath+0x16/0x1b
my toy          R  running task        0    95      1 0x00000008
Call Trace:
 [<ffffffff81560f57>] schedule+0x37/0x90
 [<ffffffff8101d2de>] ret_from_fork+0x16/0x1b
INFO: task toy:1351 blocked for more than 120 seconds.
      Tainted: P          IO   3.17.7-toy1 #1
"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.
toy             D    0  1351      2 0x80000000
Call Trace:
 schedule+0x2c/0x80
 ret_from_fork+0x35/0x40
rcu: INFO: rcu_sched detected stalls on CPUs/tasks:
Sending NMI from CPU 0 to CPUs 1:
NMI backtrace for cpu 1 skipped: idling at toy_idle+0x1e/0x130
rcu: RCU grace-period kthread stack dump:
rcu_sched       I15016    11      2 0x80004000
Call Trace:
 schedule+0x34/0xa0
 ret_from_fork+0x35/0x40
`
	const want = `task: PID 1 init|schedule system_call_fastpath.
task: PID 95 my toy|schedule ret_from_fork.
hung task: PID 1351 toy|schedule ret_from_fork.
RCU stall: PID 11 rcu_sched|schedule ret_from_fork.
`
	if got := threadsOf(t, log); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if said := snapshots(t, log)[0].Issues; len(said) != 1 || !strings.Contains(said[0].Text, "3.17.7-toy1") {
		t.Errorf("%v: the release of the hung task's kernel", said)
	}
}

// TestNoTask: lines of text that look like the head of a task.
func TestNoTask(t *testing.T) {
	for _, text := range []string{"", "toy", "toy             S", "toy             S 0x00000000", "toy             Q    0  1351      2 0x80000000",
		"toy             D    0  1351        0x80000000", "toy: reading 5 blocks from 0x80000000"} {
		if h, ok := oldTaskHeading(text); ok {
			t.Errorf("%q: %+v", text, h)
		}
	}
}
