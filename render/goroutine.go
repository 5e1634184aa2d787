package render

import (
	"strconv"

	"github.com/backsight/backsight/internal/typeset"
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

// createdBy says who started a goroutine, "" where nobody knows.
func createdBy(th *report.Thread) string {
	c := th.Created
	if c == nil || c.Function == "" {
		return ""
	}
	s := "created by " + typeset.Text(c.Function)
	if g := goroutineOf(th); g.Parent != 0 {
		s += " in goroutine " + strconv.FormatUint(g.Parent, 10)
	}
	return string(typeset.AppendPlace([]byte(s), ", ", c.File, c.Dir, c.Line))
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
