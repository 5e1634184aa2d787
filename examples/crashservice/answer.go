package main

import (
	"fmt"
	"path"
	"slices"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// crash is the answer.
type crash struct {
	Signal  string   `json:"signal,omitempty"`
	Threads int      `json:"threads"`
	Frames  []frame  `json:"frames"`
	Issues  []string `json:"issues,omitempty"`
	// Missing are the binaries that would make the answer better.
	Missing []string `json:"missing,omitempty"`
}

// frame is one frame in the answer. Sure: its wrongness would surprise.
type frame struct {
	Address  string `json:"address"`
	Function string `json:"function,omitempty"`
	Place    string `json:"place,omitempty"`
	Module   string `json:"module,omitempty"`
	Sure     bool   `json:"sure"`
}

// newCrash takes the thread that crashed out of a report, the first where none did.
func newCrash(r *report.Report) *crash {
	c := &crash{Threads: len(r.Threads), Frames: []frame{}}
	for _, issue := range r.Issues {
		c.Issues = append(c.Issues, issue.Text)
		if issue.Kind == target.IssueNotFound {
			c.Missing = append(c.Missing, issue.Subject)
		}
	}
	if f := r.Snapshot.Fault; f != nil {
		c.Signal = f.Name
	}
	if len(r.Threads) == 0 {
		return c
	}
	i := max(0, slices.IndexFunc(r.Threads, func(t report.Thread) bool { return t.Crashed }))
	for k := range r.Threads[i].Frames {
		c.Frames = append(c.Frames, newFrame(&r.Threads[i].Frames[k]))
	}
	return c
}

func newFrame(f *report.Frame) frame {
	out := frame{Address: fmt.Sprintf("%#x", f.PC), Function: f.Function, Sure: f.Trust == unwind.Certain}
	if f.Module != nil {
		out.Module = path.Base(f.Module.Name)
	}
	if f.File != "" {
		out.Place = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return out
}
