package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/backsight/backsight/service/db/dbtest"
	"github.com/backsight/backsight/service/lab/fleet"
)

// account is the processor time in seconds that those who take part in a measure have taken.
type account struct{ nodes, postgres, senders float64 }

// taken reads what was taken by now; postgres may be nil.
func taken(nodes []*fleet.Service, postgres *dbtest.Server) (a account) {
	for _, s := range nodes {
		a.nodes += processor(s.PID())
	}
	if postgres != nil {
		a.postgres = family(postgres.PID())
	}
	a.senders = processor(os.Getpid())
	return a
}

// minus is what was taken since.
func (a account) minus(b account) account {
	return account{a.nodes - b.nodes, a.postgres - b.postgres, a.senders - b.senders}
}

// each is what one of n has taken, in words.
func (a account) each(n float64) string {
	ms := func(seconds float64) float64 { return 1000 * seconds / n }
	return fmt.Sprintf("%.3f ms of a processor each (nodes %.3f, PostgreSQL %.3f, senders %.3f)", ms(a.nodes+a.postgres+a.senders), ms(a.nodes),
		ms(a.postgres), ms(a.senders))
}

// processor is the time in seconds that a process has taken of processors.
func processor(pid int) float64 {
	own, _ := times(pid)
	return own
}

// family is that of a process and of its children, those that have ended too.
func family(pid int) float64 {
	own, sum := times(pid)
	sum += own
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return sum
	}
	for _, text := range strings.Fields(string(children)) {
		var child int
		_, _ = fmt.Sscan(text, &child) // 0, else
		sum += processor(child)
	}
	return sum
}

// times are what a process and its children that ended have taken (proc_pid_stat(5): utime, stime, cutime, cstime, in hundredths).
func times(pid int) (own, ended float64) {
	b, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	if err != nil {
		return 0, 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	words := strings.Fields(rest)
	if len(words) < 15 {
		return 0, 0
	}
	var t [4]float64
	for i := range t {
		_, _ = fmt.Sscan(words[11+i], &t[i]) // 0, else
	}
	return (t[0] + t[1]) / 100, (t[2] + t[3]) / 100
}
