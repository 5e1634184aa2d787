package main

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// readCrash reads a core file and names the frames of the thread that crashed. A program that
// reads cores which it trusts keeps files and unwinder for all of them: what is learned of a
// binary stays with both.
func readCrash(ctx context.Context, sysroot string, core io.Reader, maxUnpacked int64) (*crash, error) {
	files := backsight.NewFiles(input.FileOptions{Sysroots: []string{sysroot}})
	defer files.Close()
	unwinder, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return nil, err
	}
	capture, err := backsight.OpenReader(ctx, "core", core, input.Env{Files: files, MaxSpill: maxUnpacked})
	if err != nil {
		return nil, err
	}
	defer capture.Close()
	snap, err := capture.Next(ctx)
	if err != nil {
		return nil, err
	}
	traces, err := unwinder.Backtraces(ctx, snap)
	if err != nil {
		return nil, err
	}
	return newCrash(backsight.Report(ctx, snap, traces, backsight.Names(false))), nil
}

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
