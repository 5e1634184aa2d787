package console

import (
	"context"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// Reader knows one family of reports, such as those of the Linux kernel.
type Reader struct {
	Name string
	// Read reads the report that begins at line at of log, and returns nil where none
	// does. next is the line behind the report, at least at+1. Most lines begin no report:
	// Read says so after a look at the line. Where next is more than at+1 without a report, the lines
	// up to next are what is left of one, and other Readers do not see them.
	Read func(ctx context.Context, log *Log, at int, env *input.Env) (r *Report, next int)
	// Signs are what a line has that may begin a report, or says something that the Reader keeps.
	Signs func(env *input.Env) Signs
	// Next, unless nil, is the first line from at on, and before end, at which Read may find something that no sign of the line tells;
	// end where there is none.
	Next func(log *Log, at, end int) int
	// Scan, unless nil, reads the whole log, before the first Read and side by side with the Scans of other Readers. What it finds it
	// keeps in the log's memos.
	Scan func(log *Log, env *input.Env)
	// Owns, unless nil, tells whether a log is surely of the Reader's family: no Reader behind it is asked then.
	Owns func(log *Log) bool
	// Beside: the Reader's reports stand in logs of any machine, beside those that others know. It is asked for all lines.
	Beside bool
	// Finish, unless nil, adds to a snapshot of all reports what the memory beside the log
	// shows: the threads that no report is about. It is asked where there is such memory.
	Finish func(ctx context.Context, snap *target.Snapshot, ram *input.RAM)
}

// Report is one report of a crash, or of a stack.
type Report struct {
	// Title says what the report is: "oops: CPU 0 PID 95 busybox".
	Title string
	// Line counts from 0.
	Line int
	// Ended: no further line can belong to the report, as its form tells.
	Ended bool
	// Arch is nil where the report is of a processor that is not known; Issues say so.
	Arch *cpu.Arch
	OS   string
	// Thread has the report's registers, its memory in Thread.Memory, and the call chain
	// that the report lists. ID and Name are set by Open.
	Thread target.Thread
	// Fault is why the report was made, nil where it is about no fault.
	Fault *target.Fault
	// Tasks are other threads, which the report, or memory that belongs to it, shows. They
	// have names; Open sets their IDs, behind those of all reports.
	Tasks []target.Thread
	// Modules are the binaries of the system that printed the report; the reports of one log
	// share them.
	Modules []*target.Module
	// Space tells programs apart: reports of the same addresses have the same, and are threads of one snapshot.
	Space any
	// Command, PID, CodeMask and Hooks are target.Snapshot's.
	Command  string
	PID      int
	CodeMask uint64
	Hooks    []uint64
	Issues   []target.Issue
}

// Whole is the report of a snapshot that stands in a log as text: the thread that crashed is the report's, the others are its tasks.
func Whole(snap *target.Snapshot) *Report {
	r := &Report{Ended: true, Arch: snap.Arch, OS: snap.OS, Fault: snap.Fault, Modules: snap.Modules, Issues: snap.Issues}
	crashed := max(0, slices.IndexFunc(snap.Threads, func(t target.Thread) bool { return t.Crashed }))
	for i, t := range snap.Threads {
		t.Memory = snap.Memory
		if i == crashed {
			r.Title, r.Thread = t.Name, t
		} else {
			r.Tasks = append(r.Tasks, t)
		}
	}
	return r
}

// Refused is a report that is not read; why says what it is.
func Refused(title, why string) *Report {
	return &Report{Title: title, Ended: true, Issues: []target.Issue{{Kind: target.IssueCapture, Text: why}}}
}
