package render

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
)

// alikeThreads groups threads that stand at the same places, wait for the same, and if goroutines were created at the same place: of
// the hundred threads of a pool most are. What crashed, what runs and what alone says are alone. Groups stand where their first
// thread does, those that crashed first.
func alikeThreads(threads []report.Thread, alone func(*report.Thread) bool) (groups [][]*report.Thread) {
	known := make(map[string]int)
	var key []byte
	for i := range threads {
		th := &threads[i]
		g := goroutineOf(th)
		if th.Crashed || len(th.Frames) == 0 || g != nil && g.Runs || alone(th) {
			groups = append(groups, []*report.Thread{th})
			continue
		}
		key = fmt.Appendf(key[:0], "%d %s", th.Stop.Reason, taskText(th))
		if g != nil {
			key = fmt.Appendf(key, "%s %x", g.State, g.Created)
		}
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
	return crashedFirst(groups)
}

// crashedFirst puts the threads that crashed in front, and keeps the order of a log.
func crashedFirst(groups [][]*report.Thread) [][]*report.Thread {
	var first, others [][]*report.Thread
	for _, g := range groups {
		switch {
		case hasOwnMemory(g[0]):
			return groups
		case g[0].Crashed:
			first = append(first, g)
		default:
			others = append(others, g)
		}
	}
	return append(first, others...)
}

// hasOwnMemory tells of a report of a log, or a sample of a profile: the order and the number of each count.
func hasOwnMemory(th *report.Thread) bool { return th.Thread == nil || th.Memory != nil }

// nobody is alone.
func nobody(*report.Thread) bool { return false }

// isAlone tells of a thread of which the text shows what no other thread has: values, or what was tried.
func (s *Style) isAlone(th *report.Thread) bool {
	values := s.Registers || s.StackUsage || th.Tried != nil || slices.ContainsFunc(th.Frames, func(f report.Frame) bool {
		return f.Details != nil && len(f.Details.Variables) > 0
	})
	return values || goroutineOf(th) == nil && hasOwnMemory(th)
}

// maxNamed is how many threads of a group are named.
const maxNamed = 8

// threadTitle names a thread, or threads that are alike:
//
//	Thread 77
//	Threads 12, 13, 14 "worker"
//	Goroutine 1 [running], thread 77
//	Goroutines 17, 18, 19 [chan receive]
func threadTitle(group []*report.Thread) string {
	th := group[0]
	g := goroutineOf(th)
	kind := "Thread"
	if g != nil {
		kind = "Goroutine"
	}
	if len(group) > 1 {
		kind += "s"
	}
	title := kind + " " + numbers(group)
	if g != nil {
		title += " [" + typeset.Text(g.State) + typeset.Text(waitText(th.Task)) + "]"
		if g.Runs {
			title += ", thread " + strconv.Itoa(th.ID)
		}
	}
	return title
}

// numbers are the numbers of threads: 12, 13, 14 and 38 others.
func numbers(group []*report.Thread) string {
	var b []byte
	for i, th := range group[:min(len(group), maxNamed)] {
		if i > 0 {
			b = append(b, ", "...)
		}
		if g := goroutineOf(th); g != nil {
			b = strconv.AppendUint(b, g.ID, 10)
		} else {
			b = strconv.AppendInt(b, int64(th.ID), 10)
		}
	}
	if more := len(group) - maxNamed; more > 0 {
		b = fmt.Appendf(b, " and %d others", more)
	}
	return string(b)
}

// names are the names of threads that are alike, the first few: "worker/1", "worker/2" …; "" for none.
func names(group []*report.Thread) string {
	const most = 3
	var known []string
	for _, th := range group {
		if th.Name == "" || slices.Contains(known, th.Name) {
			continue
		}
		if len(known) == most {
			return `"` + strings.Join(known, `", "`) + `" …`
		}
		known = append(known, th.Name)
	}
	if known == nil {
		return ""
	}
	return `"` + strings.Join(known, `", "`) + `"`
}
