// Package console reads the text of consoles: what a serial line, a terminal or a log
// daemon kept of a machine that crashed, with everything else that was printed in
// between. Who knows a kind of report is a Reader; the reports of a log are the threads
// of one snapshot, in the order of the log.
package console

import (
	"context"
	"unicode/utf8"

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
	// Owns, unless nil, tells whether a log is surely of the Reader's family: no Reader behind it is asked then.
	Owns func(log *Log) bool
	// Finish, unless nil, adds to a snapshot of all reports what the memory beside the log
	// shows: the threads that no report is about. It is asked where there is such memory.
	Finish func(snap *target.Snapshot, ram *input.RAM)
}

// Report is one report of a crash, or of a stack.
type Report struct {
	// Title says what the report is: "oops: CPU 0 PID 95 busybox".
	Title string
	// Line counts from 0.
	Line int
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
	// CodeMask and Hooks are target.Snapshot's.
	CodeMask uint64
	Hooks    []uint64
	Issues   []target.Issue
}

// Format is text with reports that one of readers knows. They are asked in order, until
// one knows the first report.
func Format(readers ...Reader) input.Format {
	return input.Format{
		Name:  "console",
		Sniff: sniff,
		Set:   dumpOf,
		Open: func(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
			return open(ctx, c, env, nil, readers)
		},
	}
}

// textShare is how many percent of a log's head are text at least: lines lose bits, and a
// reset sends some bytes of noise.
const textShare = 60

// sniff tells text from other bytes: bytes above 0x7f are text as UTF-8 only, or all that
// is compressed would be text.
func sniff(head []byte) bool {
	text := 0
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		if r >= ' ' && r != 0x7f && (r != utf8.RuneError || n > 1) || r == '\n' || r == '\r' || r == '\t' || r == 0x1b {
			text += n
		}
		i += n
	}
	return text*100 >= textShare*len(head) && text > 0
}
