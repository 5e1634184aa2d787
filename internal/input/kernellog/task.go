package kernellog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// taskHeading reads how sysrq-t, sysrq-w and the detector of hung tasks begin with a task:
//
//	task:busybox         state:S stack:0     pid:93    ppid:92     flags:0x00000004
//	busybox         S    0    93     92 0x00000000                          (before Linux 5.12)
func taskHeading(text string) (h heading, ok bool) {
	h.cpu, h.pid = -1, -1
	rest, ok := strings.CutPrefix(text, "task:")
	if !ok {
		return oldTaskHeading(text)
	}
	comm, rest, ok := strings.Cut(rest, " state:")
	if !ok {
		return oldTaskHeading(text)
	}
	h.what, h.comm = "task", strings.TrimSpace(comm)
	if state, _ := cutWord(rest); state != "" {
		h.says = "state " + state
	}
	if _, pid, ok := strings.Cut(rest, " pid:"); ok {
		h.pid = phrases.Leading(strings.TrimLeft(pid, " "), -1) // right-aligned in Linux 5.15
	}
	return h, true
}

// hasFlags tells whether a number in hexadecimal follows another number.
func hasFlags(text string) bool {
	for at := 0; ; {
		n := strings.IndexByte(text[at:], 'x')
		if n < 0 {
			return false
		}
		at += n + 1
		if before, ok := strings.CutSuffix(text[:at], " 0x"); ok {
			before = strings.TrimRight(before, " \t")
			if before != "" && before[len(before)-1] >= '0' && before[len(before)-1] <= '9' {
				return true
			}
		}
	}
}

// oldTaskHeading reads that line as kernels before Linux 5.12 wrote it, those before Linux 4.14 with the PC behind the state
// (kernel/sched/core.c, sched_show_task):
//
//	busybox         R running      0    95     93 0x00000000
//	busybox         S c05d1b40     0    93     92 0x00000000
//	rcu_sched       I15016    11      2 0x80004000           where much of the stack was never used
func oldTaskHeading(text string) (h heading, ok bool) {
	h.cpu, h.pid = -1, -1
	if !hasFlags(text) {
		return h, false
	}
	const numbers = 3 // free stack, process, parent
	words := stateApart(strings.Fields(text))
	for i := 2 + numbers; i < len(words); i++ {
		flags, hex := strings.CutPrefix(words[i], "0x")
		n := digitsOf(flags)
		if !hex || n != 8 && n != 16 {
			continue
		}
		at := i - numbers
		h.pid = phrases.Leading(words[at+1], -1)
		if !isDecimal(words[at:i]) {
			break
		}
		for at--; words[at] == "running" || words[at] == "task" || digitsOf(words[at]) >= 8; at-- {
			if at == 1 {
				return h, false
			}
		}
		if at < 1 || len(words[at]) != 1 || !strings.Contains(taskStates, words[at]) {
			break
		}
		h.what, h.comm, h.says = "task", strings.Join(words[:at], " "), "state "+words[at]
		return h, true
	}
	h.pid = -1
	return h, false
}

// taskStates are the letters by which kernels name the states of tasks.
const taskStates = "RSDTtXZPIKWNx"

// stateApart parts a state from the free stack right behind it.
func stateApart(words []string) []string {
	for i, w := range words {
		if i > 0 && len(w) > 1 && strings.Contains(taskStates, w[:1]) && isDecimal([]string{w[1:]}) {
			words = slices.Insert(words, i+1, w[1:])
			words[i] = w[:1]
			break
		}
	}
	return words
}

// hungHeading reads "INFO: task busybox:95 blocked for more than 120 seconds."
func hungHeading(text string) (h heading, ok bool) {
	h.cpu, h.pid = -1, -1
	rest, ok := strings.CutPrefix(text, "INFO: task ")
	if !ok {
		return h, false
	}
	name, _, ok := strings.Cut(rest, " blocked ") // for more than 120 seconds, in I/O wait for more than 120 seconds
	if !ok || strings.HasSuffix(name, " is") {    // "is blocked on a mutex": says more of the same task
		return h, false
	}
	comm, pid, _ := cutLast(name, ':')
	h.what, h.says, h.comm, h.pid = "hung task", text, comm, phrases.Leading(pid, -1)
	return h, true
}

// stoppedHeading reads how ARM, and arm64 before Linux 5.13, begin with what a processor did that another stops because it
// panics (arch/arm/kernel/smp.c, ipi_cpu_stop): "CPU3: stopping".
func stoppedHeading(text string) (h heading, ok bool) {
	h.cpu, h.pid = -1, -1
	cpu, ok := strings.CutPrefix(text, "CPU")
	if !ok {
		return h, false
	}
	cpu, ok = strings.CutSuffix(cpu, ": stopping")
	n, err := strconv.Atoi(cpu)
	if !ok || err != nil || n < 0 {
		return h, false
	}
	h.what, h.says, h.cpu = "stopped", text, n
	return h, true
}
