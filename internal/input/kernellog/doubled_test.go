package kernellog

import (
	"strings"
	"testing"
)

// TestDoubled: each line printed twice is one line, from the first line of a report on, and no longer than lines are
// printed twice. A function that called itself stays twice in the chain.
func TestDoubled(t *testing.T) {
	const log = `[  1.1] boot
[    1.000001] rcu: INFO: rcu_sched self-detected stall on CPU
[    1.000002] CPU: 0 PID: 149 Comm: sh Not tainted 6.12.0 #1
[    1.000003] Call Trace:
[    1.000004] [<ffffffff80693fd0>] toy_spin+0x10/0xa0
[    1.000004] [<ffffffff80693fd0>] toy_spin+0x10/0xa0
[    1.000005] [<ffffffff806941cc>] __riscv_sys_toy+0x2a/0x34
`
	want := "RCU stall: CPU 0 PID 149 sh|toy_spin toy_spin __riscv_sys_toy\n"
	twice := ""
	for _, line := range strings.SplitAfter(log, "\n") {
		twice += line + line
	}
	for _, log := range []string{log, twice} {
		if got := threadsOf(t, log+"[    2.000000] link is up\n"+log); got != want+want {
			t.Errorf("got\n%swant\n%s", got, want+want)
		}
	}
}
