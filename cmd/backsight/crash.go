package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/crashdir"
	"github.com/backsight/backsight/internal/gcore"
	"github.com/backsight/backsight/internal/procfs"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/unwind"
)

// crashOptions are the flags of crash.
type crashOptions struct {
	bt       btOptions // where binaries are, which names frames have
	dir      crashdir.Dir
	core     bool
	deadline time.Duration
	memory   uint64 // of the process, that is copied
	nice     int
	to       string // a service's URL
}

// crashMemory bounds the memory of a process that is copied on a small machine, and crashMost on others: three eighths of that hold a
// stack of 8 MB, Linux' default, with the beginning of the recursion that filled it. crashThreads bounds the threads of a report, crashFrames
// the frames of a thread, and crashHeap what Go's heap should take beside what is copied.
const crashFrames = 1 << 16
const crashMemory, crashMost, crashThreads, crashHeap = 6 << 20, 24 << 20, 500, 26 << 20

func newCrash(stderr io.Writer) *subcommand {
	var o crashOptions
	cmd := &subcommand{
		Use:   "crash [flags] PID TID SIGNAL TIME [PIDFD]",
		Short: "Reports of crashes, as the kernel's handler of cores",
		Long: `Writes a report of a process that crashes, as text and JSON. The kernel starts it,
by /proc/sys/kernel/core_pattern (core(5)), and gives it the core on standard
input; only the registers are read from there, and no core is written. Reports are
in DIR, which is bounded; what crashes too often is counted in DIR/crashes.json.
What goes wrong is told to the kernel's log, or syslog, if nobody reads standard error. Since
Linux 6.16 %F may follow the time: it tells a process from another with its ID.`,
		Example: `  echo '|/usr/bin/backsight crash --dir /var/log/backsight %P %i %s %t' > /proc/sys/kernel/core_pattern
  echo 16 > /proc/sys/kernel/core_pipe_limit`,
		RunE: func(cmd *subcommand, args []string) error {
			d, err := deathOf(args)
			if err != nil {
				return err
			}
			if o.dir.Crashes < 1 || o.dir.Bytes < 1 || o.dir.Rate < 1 || o.dir.Jobs < 1 || o.deadline <= 0 {
				return errors.New("crash: a bound is not above 0")
			}
			var to *upload
			if o.to != "" {
				if to, err = newUpload(o.to); err != nil {
					return err
				}
			}
			if err = o.handle(cmd.Context(), d, os.Stdin, stderr, to); err != nil {
				return &failure{exitNone, fmt.Errorf("crash of process %d: %s", d.pid, strings.ReplaceAll(err.Error(), "\n", "; "))}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.dir.Path, "dir", "/var/log/backsight", "the `DIR` of the reports")
	f.BoolVar(&o.core, "core", false, "keep a small core beside each report")
	f.IntVar(&o.dir.Crashes, "keep", 50, "keep the reports of `N` crashes; the oldest go")
	f.Int64Var(&o.dir.Bytes, "max-bytes", 16<<20, "keep `BYTES` of reports at most; the oldest go")
	f.IntVar(&o.dir.Rate, "rate", 3, "report `N` crashes of a program in a minute, and count the others")
	f.IntVar(&o.dir.Jobs, "jobs", 2, "work on `N` crashes at once, and count the others")
	f.DurationVar(&o.deadline, "deadline", time.Minute, "give up after `TIME`")
	f.IntVar(&o.nice, "nice", 10, "the `NICENESS` to run with")
	f.StringVar(&o.to, "upload", "", "send reports to the service at `URL` (backsightd), by curl")
	o.bt.files.add(f)
	o.bt.names.add(f)
	f.StringVar(&o.bt.walk.tableDir, "table-dir", "", "`DIR` with unwind tables that 'backsight table -o DIR' wrote")
	complete(cmd, nil, nil)
	return cmd
}

// death is what the kernel says of a process that crashes.
type death struct {
	pid, tid, signal int
	when             time.Time
	program          string
	gone             bool // the ID may be another process's by now
}

// deathOf reads the arguments. The last, %F, is only there in Linux 6.16 and later, and empty before.
func deathOf(args []string) (d death, err error) {
	pidfd := ""
	if len(args) == 5 {
		args, pidfd = args[:4], args[4]
	}
	if len(args) != 4 {
		return d, errors.New("crash: wants a process, a thread, a signal and a time: %P %i %s %t at the end of core_pattern, of which Linux keeps 127 bytes")
	}
	var n [4]int64
	for i, a := range args {
		v, err := strconv.ParseUint(a, 10, 40)
		if err != nil || v > 1<<31-1 && i < 3 {
			return d, fmt.Errorf("crash: %q is no number", a)
		}
		n[i] = int64(v)
	}
	d = death{pid: int(n[0]), tid: int(n[1]), signal: int(n[2]), when: time.Unix(n[3], 0), program: "unknown"}
	if d.gone = pidfd != "" && another(pidfd, d.pid); d.gone {
		return d, nil
	}
	if exe, err := os.Readlink(procfs.Living("/proc/"+args[0]) + "/exe"); err == nil {
		d.program = exe
	}
	return d, nil
}

// another tells whether a pidfd says that its process is not, or no longer, the one of an ID (proc_pid_fdinfo(5), Pid).
func another(pidfd string, pid int) bool {
	info, _ := os.ReadFile("/proc/self/fdinfo/" + filepath.Base(pidfd))
	for line := range strings.Lines(string(info)) {
		if of, is := strings.CutPrefix(line, "Pid:"); is {
			return strings.TrimSpace(of) != strconv.Itoa(pid)
		}
	}
	return false
}

// handle reports a crash, or counts it, and sends the report to a service, if there is one.
func (o *crashOptions) handle(ctx context.Context, d death, in *os.File, stderr io.Writer, to *upload) error {
	crashdir.Harden(o.nice, o.deadline)
	o.memory = min(max(crashdir.Spare()/8, crashMemory), crashMost)
	debug.SetMemoryLimit(crashHeap + int64(o.memory))
	late := time.AfterFunc(2*o.deadline, func() { // a disk, or a handler with a lock, that answers no more
		crashdir.Log(fmt.Sprintf("crash of process %d: no report within %s", d.pid, 2*o.deadline))
		os.Exit(exitNone)
	})
	defer late.Stop()
	ticket, err := o.dir.Admit(d.program, d.when, d.pid)
	if err != nil || ticket == nil {
		return err
	}
	defer ticket.End()
	working, stop := context.WithTimeout(ctx, o.deadline)
	defer stop()
	done := make(chan crashReport, 1)
	go func() { done <- o.report(working, d, in, stderr) }()
	var r crashReport
	select {
	case r = <-done:
	case <-working.Done():
		r = crashReport{failure: fmt.Errorf("no backtrace within %s", o.deadline)}
	}
	err = errors.Join(r.failure, o.write(ctx, ticket, d, &r))
	if to != nil && r.json != nil {
		sending, stop := context.WithTimeout(ctx, o.deadline*3/4) // within what late leaves
		defer stop()
		err = errors.Join(err, to.send(sending, r.json))
	}
	return err
}

// crashReport is what became of a crash.
type crashReport struct {
	text, json []byte
	core       io.Reader     // nil: there is none
	held       time.Duration // until the process's memory was copied; 0: it was not
	failure    error
}

// report makes a report.
func (o *crashOptions) report(ctx context.Context, d death, in *os.File, stderr io.Writer) (r crashReport) {
	pid := d.pid
	if d.gone {
		pid = 0
	}
	core, err := gcore.Dying(in, pid, gcore.Options{Archs: backsight.CPUs(), Stack: o.memory, Others: 256 << 10, Total: o.memory})
	if err != nil {
		return crashReport{failure: err}
	}
	live := processes{pids: []int{d.pid}}
	if core.Alive {
		live.use(&o.bt.files)
	}
	if f := &o.bt.files; len(f.sysroots) == 0 && f.running == nil && f.exe == "" {
		_ = in.Close() // the process may end: none of its files is only there
	}
	r.core, r.held = core.Reader(), core.Stopped
	rep, style, err := o.unwind(ctx, d, core, crashFrames, stderr)
	if err != nil {
		r.failure = err
		return r
	}
	for _, issue := range rep.Issues {
		r.text = fmt.Appendf(r.text, "%s\n", typeset.Text(issue.Text))
	}
	r.text = render.AppendText(r.text, rep, style)
	frames := 0
	for i := range rep.Threads {
		frames += rep.Threads[i].Count()
	}
	if frames > crashFrames/8 { // recursion, which JSON does not fold
		rep, style, r.failure = o.unwind(ctx, d, core, unwind.DefaultMaxFrames, stderr)
	}
	if r.failure == nil {
		r.json = render.AppendJSON(nil, rep, style)
	}
	return r
}

// unwind walks the threads of a core, so many frames each.
func (o *crashOptions) unwind(ctx context.Context, d death, core *gcore.Core, frames int, stderr io.Writer) (*report.Report, render.Style, error) {
	o.bt.format, o.bt.color, o.bt.walk.maxFrames, o.bt.walk.limited, o.bt.files.noIndex = "text", "never", frames, true, true
	o.bt.style.Registers, o.bt.style.Modules, o.bt.goroutines = true, true, true
	o.bt.choice.most = crashThreads
	s := &session{opt: &o.bt, progress: newProgress(stderr)}
	name := processName(d.pid)
	if err := s.prepare(ctx, []string{name}); err != nil {
		return nil, o.bt.style, err
	}
	stream, err := s.lib.Env().OpenReader(ctx, name, core.Reader())
	if err != nil {
		return nil, o.bt.style, err
	}
	snap, err := stream.Next(ctx)
	if err != nil {
		return nil, o.bt.style, err
	}
	giveNames(snap, core)
	rep, err := s.report(ctx, snap, "")
	return rep, o.bt.style, err
}

// write writes the files of a report.
func (o *crashOptions) write(ctx context.Context, t *crashdir.Ticket, d death, r *crashReport) error {
	var text strings.Builder
	fmt.Fprintf(&text, "process %d (%s), thread %d, signal %d, time %d, %s\n", d.pid, typeset.Text(d.program), d.tid, d.signal, d.when.Unix(), d.when.UTC().Format(time.RFC3339))
	if r.held > 0 {
		fmt.Fprintf(&text, "its memory was copied within %.1f ms\n", r.held.Seconds()*1000)
	}
	if t.Counted > 0 {
		fmt.Fprintf(&text, "%d crashes of this program before were only counted\n", t.Counted)
	}
	if r.failure != nil {
		fmt.Fprintf(&text, "%s\n", typeset.Text(r.failure.Error()))
	}
	text.Write(r.text)
	err := t.Write(ctx, ".txt", []byte(text.String()))
	if r.json != nil {
		err = errors.Join(err, t.Write(ctx, ".json", r.json))
	}
	if o.core && r.core != nil {
		core, _ := io.ReadAll(r.core) // it is in memory
		err = errors.Join(err, t.Write(ctx, ".core", core))
	}
	return err
}
