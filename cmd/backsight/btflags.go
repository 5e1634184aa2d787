package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
	"github.com/spf13/pflag"
)

// choiceFlags say what of a capture is wanted.
type choiceFlags struct {
	all, one bool
	thread   int
	by       string // "thread" or "report": that flag was given
	reports  bool   // list them
	most     int    // threads; 0: all
	dmesg    bool
	user     string // the processes of a machine that are wanted, "" for the kernel
	list     bool   // list them
}

func (c *choiceFlags) add(f *pflag.FlagSet) {
	f.BoolVarP(&c.all, "all", "a", false, "all threads (default)")
	f.BoolVarP(&c.one, "one", "1", false, "only the crashed thread, or the first one")
	f.IntVar(&c.thread, "thread", 0, "only the thread or goroutine with this `ID`")
	f.IntVar(&c.thread, "report", 0, "only report `N` of a log, counted from 0")
	f.BoolVar(&c.reports, "reports", false, "list the reports of a log")
	f.BoolVar(&c.dmesg, "dmesg", false, "only the kernel's log, out of the memory of a machine")
	c.addUser(f)
}

// given notes which flags were.
func (c *choiceFlags) given(f *pflag.FlagSet) {
	for _, flag := range []string{"thread", "report"} {
		if f.Changed(flag) {
			c.by = flag
		}
	}
}

// walkFlags say how to unwind, and what to tell of that.
type walkFlags struct {
	maxFrames int
	limited   bool // --max-frames was given
	sources   []string
	tableDir  string
	explain   bool
}

func (w *walkFlags) add(f *pflag.FlagSet) {
	f.IntVarP(&w.maxFrames, "max-frames", "n", unwind.DefaultMaxFrames, "at most `N` frames of a backtrace; 0: all")
	f.Var(listValue{&w.sources}, "sources", "`LIST` of unwind sources to use, in this order: "+strings.Join(backsight.SourceNames(), ", "))
	f.StringVar(&w.tableDir, "table-dir", "", "`DIR` with unwind tables that 'backsight table -o DIR' wrote")
	f.BoolVar(&w.explain, "explain", false, "say under every frame how it was found and what was tried")
}

// nameFlags say which names frames have.
type nameFlags struct{ none, readable, mangled bool }

func (n *nameFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&n.none, "no-symbols", false, "modules and offsets only")
	f.BoolVar(&n.readable, "demangle", true, "readable names of C++ and Rust functions")
	f.BoolVar(&n.mangled, "no-demangle", false, "names as they are in the file")
}

// allFrames is no limit: a stack of so many frames would take more than the memory of any
// capture.
const allFrames = 1 << 30

// limit is how many frames a backtrace has at most. Where people read it, recursion is
// folded, and the default is all of them: the outermost frames tell who began.
func (w *walkFlags) limit(format string) int {
	if w.maxFrames == 0 || format == "text" && !w.limited {
		return allFrames
	}
	return w.maxFrames
}

// selected are the unwind sources that --sources names, nil where it was not given.
func (w *walkFlags) selected() ([]backsight.Source, error) {
	if w.sources == nil {
		return nil, nil
	}
	if len(slices.DeleteFunc(slices.Clone(w.sources), func(s string) bool { return s == "" })) == 0 {
		return nil, errors.New("names no unwind source")
	}
	for i, s := range w.sources {
		if slices.Contains(w.sources[:i], s) {
			return nil, fmt.Errorf("%q is named twice", s)
		}
	}
	return backsight.SelectSources(w.sources...)
}

// symbolizer is nil where names are not wanted.
func (n *nameFlags) symbolizer() backsight.Symbolizer {
	if n.none {
		return nil
	}
	return backsight.Names(n.mangled || !n.readable)
}

// choose leaves the threads in a snapshot that were asked for. Its error is a failure: another snapshot of the capture may have them.
func (c *choiceFlags) choose(snap *target.Snapshot) error {
	switch {
	case c.by != "":
		i := slices.IndexFunc(snap.Threads, func(t target.Thread) bool {
			return t.ID == c.thread || t.Task != nil && t.Task.Goroutine != nil && t.Task.Goroutine.ID == uint64(c.thread)
		})
		if i < 0 {
			return &failure{exitNone, fmt.Errorf("no %s %d; there are %s", c.by, c.thread, threadIDs(snap))}
		}
		takeFault(snap, &snap.Threads[i])
		snap.Threads = snap.Threads[i : i+1]
	case c.one && len(snap.Threads) > 1:
		i := max(0, slices.IndexFunc(snap.Threads, func(t target.Thread) bool { return t.Crashed }))
		snap.Threads = snap.Threads[i : i+1]
	case c.most > 0 && len(snap.Threads) > c.most:
		snap.Issues = append(snap.Issues, target.Issue{Kind: target.IssueCapture, Text: fmt.Sprintf("%d more threads are left out", len(snap.Threads)-c.most)})
		snap.Threads = snap.Threads[:c.most] // those that crashed are first
	}
	return nil
}

// takeFault makes a thread's own fault the capture's, where threads have faults of their own: the reports of a log.
func takeFault(snap *target.Snapshot, chosen *target.Thread) {
	switch {
	case chosen.Fault != nil:
		own := *chosen.Fault
		own.Thread, snap.Fault = chosen.ID, &own
	case slices.ContainsFunc(snap.Threads, func(t target.Thread) bool { return t.Fault != nil }):
		snap.Fault = nil
	}
}

// threadIDs lists the first few.
func threadIDs(snap *target.Snapshot) string {
	var ids []string
	for i := range snap.Threads {
		if len(ids) == 20 {
			return strings.Join(ids, ", ") + " and others"
		}
		ids = append(ids, fmt.Sprint(snap.Threads[i].ID))
	}
	return strings.Join(ids, ", ")
}
