package kernellog

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/target"
)

// TestOldTaskHeadings: kernels before Linux 5.12 write a task in columns.
func TestOldTaskHeadings(t *testing.T) {
	for text, want := range map[string]string{
		"init            S c05d1b40     0     1      0 0x00000000":                               "task: PID 1 init",
		"sh              R running      0   812      1 0x00000000":                               "task: PID 812 sh",
		"sh              R  running task        0   812      1 0x00000000":                       "task: PID 812 sh",
		"kworker/u16:2   D ffffff8008085a8c     0   134      2 0x00000000":                       "task: PID 134 kworker/u16:2",
		"Web Content     D    0   621      2 0x0000000000000000 last_sleep: 24.  last_run: 2440": "task: PID 621 Web Content",
		"task:sh              state:D stack:    0 pid: 9436 ppid:   828 flags:0x04000800":        "task: PID 9436 sh",
		"4: copy 12 34 56 0x00000000":                                                            "",
		"S 1 2 3 0x00000000":                                                                     "",
		"read 1 2 3 0x00000000":                                                                  "",
		"running running 1 2 3 0x00000000":                                                       "",
		" 0x00000000":                                                                            "",
	} {
		h, ok := taskHeading(text)
		if got := h.title(); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %t %s, want %q", text, ok, got, want)
		}
	}
}

// TestOldTasks: tasks in columns are threads of their own, though nothing else stands between their chains.
func TestOldTasks(t *testing.T) {
	const log = `
SysRq : Show State
  task                PC stack   pid father
init            S c05d1b40     0     1      0 0x00000000
[<c05d1b40>] (__schedule+0x2b8/0x6a0) from [<c014ec20>] (toy_wait+0x9c/0xb8)
[<c014ec20>] (toy_wait+0x9c/0xb8) from [<c000e640>] (ret_fast_syscall+0x0/0x30)
kthreadd        S c05d1b40     0     2      0 0x00000000
[<c05d1b40>] (__schedule+0x2b8/0x6a0) from [<c0047eac>] (kthreadd+0x134/0x13c)
[<c0047eac>] (kthreadd+0x134/0x13c) from [<c000e6d8>] (kernel_thread_exit+0x0/0x8)
`
	want := "task: PID 1 init|__schedule! toy_wait ret_fast_syscall!.\ntask: PID 2 kthreadd|__schedule! kthreadd kernel_thread_exit!.\n"
	if got := threadsOf(t, log); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestWhoOfOldARM: before Linux 3.10 ARM's report names the processor and the kernel on one line, the process on another.
func TestWhoOfOldARM(t *testing.T) {
	const log = `
Unable to handle kernel NULL pointer dereference at virtual address 00000010
Internal error: Oops: 5 [#1] PREEMPT SMP ARM
CPU: 1    Tainted: G        W     (3.0.31-toy #1)
PC is at leaf+0x14/0x20
LR is at mid+0x24/0x2c
pc : [<c0010014>]    lr : [<c0020024>]    psr: 40000013
sp : ca911db0  ip : ca911e84  fp : 0069b1e0
Process toyd (pid: 39, stack limit = 0xca9102e8)
[<c0010014>] (leaf+0x14/0x20) from [<c0020024>] (mid+0x24/0x2c)
[<c0020024>] (mid+0x24/0x2c) from [<c000e640>] (ret_fast_syscall+0x0/0x30)
`
	if got, want := threadsOf(t, log), "oops: CPU 1 PID 39 toyd|leaf! mid ret_fast_syscall!.\n"; got != want {
		t.Errorf("got %swant %s", got, want)
	}
	if said := issuesOf(t, "Pid: 39, comm:                 toyd\nCPU: 1    Not tainted  (2.6.35.11 #1)"+log[strings.Index(log, "\nPC is"):], target.IssueCapture); len(said) != 0 {
		t.Error(said)
	}
	if h, ok := processHeading("CPU: 1    Tainted: G        W     (3.0.31-toy #1)"); !ok || h.release != "3.0.31-toy" {
		t.Errorf("%+v", h)
	}
}
