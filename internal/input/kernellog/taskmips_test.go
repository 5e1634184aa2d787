package kernellog

import "testing"

// TestOldTaskHeading: tasks as kernels before Linux 5.12 list them, and what is none.
func TestOldTaskHeading(t *testing.T) {
	for text, want := range map[string]string{
		"bash            R  running task        0   149    121 0x00000008":           "task: PID 149 bash, state R",
		"kworker/u2:0    D    0     6      2 0x00000000":                             "task: PID 6 kworker/u2:0, state D",
		"sshd            S 7fff4220     0   212      1 0x00000000":                   "task: PID 212 sshd, state S",
		"my sh           S ffffffff81049d24     0   212      1 0x0000000000000000":   "task: PID 212 my sh, state S",
		"Z               Z    0   212      1 0x00000000":                             "task: PID 212 Z, state Z",
		"my sh 212 1 0x00000000":                                                     "",
		"x S a 212 1 0x00000000":                                                     "",
		"0x00000000":                                                                 "",
		"eth0: 1 2 3 0x00000000":                                                     "",
		"CPU features: 0x0 0x00000000":                                               "",
		"Register x19 information: 0-page vmalloc region starting at S 1 0x00000000": "",
	} {
		got := ""
		if h, ok := oldTaskHeading(text); ok {
			got = h.title() + ", " + h.says
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestOldTasks: a stall shows the task that it is about, and the thread that waits, which is another report.
func TestTasksOfMIPS(t *testing.T) {
	const log = `INFO: rcu_sched detected stalls on CPUs/tasks:
(detected by 0, t=5252 jiffies, g=2837145, q=17)
sh              R  running task        0   149    121 0x00000008
Call Trace:
[<ffffffe000091094>] toy_spin+0x158/0x174
[<ffffffe0005d3f7c>] __riscv_sys_toy+0x32/0x3a
rcu_sched       R  running task        0    10      2 0x00000000
Call Trace:
[<ffffffe000784258>] __schedule+0x1a8/0x482
`
	if got, want := threadsOf(t, log), "RCU stall: PID 149 sh|toy_spin __riscv_sys_toy\ntask: PID 10 rcu_sched|__schedule\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
