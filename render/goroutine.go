package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// goroutineOf is which goroutine a thread is, nil for another kind.
func goroutineOf(t *report.Thread) *target.Goroutine {
	if t.Thread == nil || t.Task == nil {
		return nil
	}
	return t.Task.Goroutine
}

// foldGoroutines groups goroutines that stand at the same places, wait for the same and were created at the same place; what threads run is
// alone. Groups stand where their first one does.
func foldGoroutines(threads []report.Thread) (groups [][]*report.Thread) {
	known := make(map[string]int)
	var key []byte
	for i := range threads {
		th := &threads[i]
		g := goroutineOf(th)
		if g == nil || g.Runs || th.Crashed {
			groups = append(groups, []*report.Thread{th})
			continue
		}
		key = fmt.Appendf(key[:0], "%s %x %d", g.State, g.Created, th.Stop.Reason)
		for k := range th.Frames {
			key = strconv.AppendUint(append(key, ' '), th.Frames[k].PC, 16)
		}
		if at, ok := known[string(key)]; ok {
			groups[at] = append(groups[at], th)
			continue
		}
		known[string(key)] = len(groups)
		groups = append(groups, []*report.Thread{th})
	}
	return groups
}

// maxNamed is how many goroutines of a group are named.
const maxNamed = 8

// threadTitle names a thread, or goroutines that are alike:
//
//	Thread 77
//	Goroutine 1 [running], thread 77
//	Goroutines 17, 18, 19 [chan receive]
func threadTitle(group []*report.Thread) string {
	th := group[0]
	g := goroutineOf(th)
	if g == nil {
		return "Thread " + strconv.Itoa(th.ID)
	}
	var b strings.Builder
	for i, other := range group[:min(len(group), maxNamed)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, goroutineOf(other).ID)
	}
	title := "Goroutine " + b.String()
	if len(group) > 1 {
		title = "Goroutines " + b.String()
	}
	if more := len(group) - maxNamed; more > 0 {
		title += fmt.Sprintf(" and %d others", more)
	}
	title += " [" + Text(g.State) + Text(waitText(th.Task)) + "]"
	if g.Runs {
		title += ", thread " + strconv.Itoa(th.ID)
	}
	return title
}

// createdBy says who started a goroutine, "" where nobody knows.
func createdBy(th *report.Thread) string {
	c := th.Created
	if c == nil || c.Function == "" {
		return ""
	}
	s := "created by " + Text(c.Function)
	if g := goroutineOf(th); g.Parent != 0 {
		s += " in goroutine " + strconv.FormatUint(g.Parent, 10)
	}
	return string(appendPlace([]byte(s), ", ", c.File, c.Dir, c.Line))
}

// goroutine writes what Go's runtime knows of the thread.
func (e *threadEncoder) goroutine(g *target.Goroutine) {
	e.key("goroutine")
	e.open('{')
	e.key("id")
	e.int(int(min(g.ID, 1<<31-1)))
	e.member("state", g.State)
	e.key("runs")
	e.bool(g.Runs)
	e.key("system")
	e.bool(g.System)
	e.key("parent")
	if g.Parent == 0 {
		e.null()
	} else {
		e.int(int(min(g.Parent, 1<<31-1)))
	}
	e.key("created_by")
	if c := e.t.Created; c == nil {
		e.null()
	} else {
		e.open('{')
		e.key("offset")
		e.address(g.Created - 1)
		e.member("function", c.Function)
		e.member("file", c.File)
		e.key("line")
		e.int(c.Line)
		e.close('}')
	}
	e.close('}')
}
