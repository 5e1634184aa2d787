package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/report"
)

// runaway tells whether a scenario is that of a recursion through other tasks' stacks, of whose frames one stands for all.
func runaway(scenario string, frames *[]string) bool {
	if scenario == "runaway" {
		*frames = slices.Compact(*frames)
	}
	return scenario == "runaway"
}

// culprit: the stack pointer lies on the stack of log, and the task that ran and overflowed is crash all the same.
func culprit(t *testing.T, log string, th *report.Thread) {
	t.Helper()
	if k := th.Task; k == nil || !k.Overflown || !strings.HasSuffix(th.Name, "(task crash)") {
		t.Errorf("%s: %s overflowed: %+v", log, th.Name, k)
	}
}

// victim: the task crash came down through the stack of busy into that of log, and its fault handler perhaps into that of net. No
// frame that is more than a guess is another task's, and nobody but crash is said to have used the whole stack.
func victim(t *testing.T, log string, th *report.Thread) {
	t.Helper()
	sure, _ := names(th)
	if slices.ContainsFunc(sure, func(name string) bool {
		return slices.Contains([]string{"leaf", "descend", "scenario", "crash", "fatal", "stop", "report"}, name)
	}) {
		t.Errorf("%s: task %s is in %v", log, th.Name, sure)
	}
	if k := th.Task; k == nil || k.Overflown || k.Filled && k.Unused == 0 {
		t.Errorf("%s: task %s: %+v", log, th.Name, k)
	}
}
