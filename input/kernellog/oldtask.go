package kernellog

import (
	"strconv"
	"strings"
)

// oldTaskHeading reads how sysrq-t, the detector of hung tasks and RCU begin with a task before Linux 5.12
// (kernel/sched/core.c, sched_show_task): name, state, "running task" or in older ones where the task waits, free
// stack, process ID, the parent's, flags.
//
//	bash            R  running task        0   149    121 0x00000008
//	kworker/u2:0    D    0     6      2 0x00000000
//	sshd            S 7fff4220     0   212      1 0x00000000
func oldTaskHeading(text string) (h heading, ok bool) {
	head, flags, ok := cutLast(text, ' ')
	if !ok || !strings.HasPrefix(flags, "0x") || digitsOf(flags[2:]) != 8 && digitsOf(flags[2:]) != 16 {
		return h, false
	}
	words := strings.Fields(head)
	n := len(words) - 3
	if n < 2 {
		return h, false
	}
	words, numbers := words[:n], words[n:]
	for _, s := range numbers {
		if _, err := strconv.Atoi(s); err != nil {
			return h, false
		}
	}
	switch last := len(words) - 1; {
	case last > 2 && words[last] == "task" && words[last-1] == "running":
		words = words[:last-1]
	case last > 1 && (digitsOf(words[last]) == 8 || digitsOf(words[last]) == 16):
		words = words[:last]
	}
	last := len(words) - 1
	if last < 1 || len(words[last]) != 1 || !strings.Contains("RSDTtXZPIKW", words[last]) {
		return h, false
	}
	h.cpu, h.pid = -1, leadingNumber(numbers[1], -1)
	h.what, h.says, h.comm = "task", "state "+words[last], strings.Join(words[:last], " ")
	return h, true
}
