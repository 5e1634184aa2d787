package faultlog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/target"
)

// taskTable is the table of tasks that NuttX prints at a crash (sched/misc/assert.c, dump_tasks). Which columns there are
// depends on the build; those up to STATE are a word each.
//
//	dump_tasks:    PID GROUP PRI POLICY   TYPE    NPX STATE   EVENT      SIGMASK          STACKBASE  STACKSIZE      USED   FILLED    COMMAND
//	dump_task:      11    11 100 RR       Task    -   Waiting Semaphore  0000000000000000 0x3c020000      2024       800    40.0%    worker
type taskTable struct {
	rows            []named // by their numbers
	priority, state int     // columns, 0: not there
}

// take reads a line of the table.
func (t *taskTable) take(line string) bool {
	if _, head, ok := strings.Cut(line, "dump_tasks: "); ok {
		columns := strings.Fields(head)
		t.priority, t.state = max(0, slices.Index(columns, "PRI")), max(0, slices.Index(columns, "STATE"))
		return true
	}
	_, row, ok := strings.Cut(line, "dump_task: ")
	if !ok || len(t.rows) == maxBases {
		return false
	}
	if f := strings.Fields(row); len(f) > 2 {
		t.rows = append(t.rows, t.row(f))
	}
	return true
}

// row is the task of a row's words.
func (t *taskTable) row(words []string) named {
	n := named{number: "task " + words[0], name: words[len(words)-1], task: new(target.Task)}
	if t.priority > 0 && t.priority < len(words) {
		priority, err := strconv.Atoi(words[t.priority])
		n.task.Priority, n.task.HasPriority = priority, err == nil
	}
	if t.state > 0 && t.state < len(words) {
		n.task.State = nuttxState(words[t.state])
	}
	base := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "0x") })
	if base < 0 || base+2 >= len(words) {
		return n
	}
	lo, err := strconv.ParseUint(words[base], 0, 64)
	size, wrong := strconv.ParseUint(words[base+1], 10, 31)
	if err == nil && wrong == nil && lo+size > lo {
		n.stack = target.Range{Lo: lo, Hi: lo + size}
	}
	for name := base + 2; name < len(words); name++ { // behind USED and FILLED, where the stack was colored
		if strings.Trim(words[name], "0123456789.%!") != "" {
			n.name = words[name]
			break
		}
	}
	return n
}

// nuttxState is a state by NuttX' names (sched/sched/sched_get_stateinfo.c).
func nuttxState(name string) string {
	switch name {
	case "Running":
		return "running"
	case "Ready", "Assigned", "Pending":
		return "ready"
	case "Waiting":
		return "waiting"
	case "Stopped", "Inactive":
		return "suspended"
	}
	return ""
}

// of is the task that a list calls by its number.
func (t *taskTable) of(c named) named {
	if i := slices.IndexFunc(t.rows, func(row named) bool { return row.number == c.name }); i >= 0 {
		row := t.rows[i]
		row.listed = c.listed
		return row
	}
	return c
}

// addTasks adds the tasks of a table of which the report lists no chain, but the one that runs, which the report is of.
func (w *words) addTasks(t *taskTable) {
	for _, row := range t.rows {
		listed := slices.ContainsFunc(w.others, func(o named) bool { return o.number == row.number })
		if !listed && row.task.State != "running" && row.name != w.thread {
			w.others = append(w.others, row)
		}
	}
}
