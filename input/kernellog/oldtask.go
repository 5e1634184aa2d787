package kernellog

import (
	"strings"
)

// oldTaskHeading reads how kernels before Linux 5.12 begin with a task (kernel/sched/core.c, sched_show_task): 15
// letters of its name, its state, where it stands (before Linux 4.14), how much of its stack it never used, its
// process ID and its parent's, its flags:
//
//	busybox         S    0    93     92 0x00000000
//	rcu_sched       I15016    11      2 0x80004000
//	txg_sync        D ffff880181c2fbc8     0 13532      2 0x00000000
//	kworker/2:1     R  running task        0   123      2 0x00000008
func oldTaskHeading(text string) (h heading, ok bool) {
	h.cpu, h.pid = -1, -1
	at, flags, ok := strings.Cut(text, " 0x")
	if !ok || digitsOf(flags) != 8 || len(at) < len("sh              S 0 93 92") {
		return h, false
	}
	comm, rest := at[:min(nameWidth, len(at))], at[min(nameWidth, len(at)):]
	state := strings.TrimLeft(rest, " ")
	if len(rest)-len(state) != 1 || strings.IndexByte("RSDTtXZPIKW", state[0]) < 0 {
		return h, false
	}
	fields := strings.Fields(strings.Replace(state[1:], "running task", "", 1))
	n := len(fields)
	if n < 3 || n > 4 || leadingNumber(fields[n-1], -1) < 0 || leadingNumber(fields[n-3], -1) < 0 || n == 4 && digitsOf(fields[0]) < 8 {
		return h, false
	}
	h.what, h.says, h.comm = "task", "state "+state[:1], strings.TrimSpace(comm)
	h.pid = leadingNumber(fields[n-2], -1)
	return h, h.pid >= 0 && h.comm != ""
}

// nameWidth is the column that a task's name takes.
const nameWidth = 15
