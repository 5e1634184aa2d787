package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// session is one run of bt.
type session struct {
	opt      *btOptions
	out      output
	progress *progress

	lib     *backsight.Session
	names   backsight.Symbolizer // nil: none are wanted
	files   *input.Files         // of lib
	several bool                 // captures
	reader  io.Reader            // what to read instead of a file; nil: none

	done       atomic.Int64 // snapshots
	incomplete bool
}

func (s *session) run(ctx context.Context, captures []string) error {
	if err := s.prepare(ctx, captures); err != nil {
		return err
	}
	return s.all(ctx, captures)
}

// prepare finds what is wrong with the flags.
func (s *session) prepare(ctx context.Context, captures []string) (err error) {
	if err := s.opt.check(s.out.w); err != nil {
		return err
	}
	if err := directory("--table-dir", s.opt.walk.tableDir); err != nil {
		return err
	}
	sources, err := s.opt.walk.selected()
	if err != nil {
		return fmt.Errorf("--sources: %w", err)
	}
	if s.files, err = s.opt.files.open(ctx, s.progress.warn); err != nil {
		return err
	}
	if err := s.opt.memory.check(s.files.Archs()); err != nil {
		return err
	}
	if s.lib, err = backsight.SessionOf(s.files, s.config(sources)); err != nil {
		return err
	}
	return s.out.use(s.opt.format, "Backtraces of "+displayName(first(captures)))
}

// config is what the flags say of captures and reports.
func (s *session) config(sources []backsight.Source) backsight.Config {
	o := s.opt
	env := o.memory.env(s.files)
	s.names = o.names.symbolizer()
	return backsight.Config{
		RAM: env.RAM, Regs: env.Regs,
		Unwind: backsight.Options{Sources: sources, MaxFrames: o.walk.limit(o.format), TableDir: o.walk.tableDir, StackSizes: o.style.StackUsage,
			Warn: func(err error) { s.progress.warn(err.Error()) }},
		Explain: o.walk.explain || o.format == "html", SystemThreads: !o.goroutines, Names: s.names, Nameless: s.names == nil,
		Variables: o.show.variables(), Choose: o.choice.choose,
		Unsigned: !slices.Contains([]string{"json", "jsonl", "signature"}, o.format),
	}
}

// all goes through the captures.
func (s *session) all(ctx context.Context, captures []string) error {
	sets := s.lib.Env().Sets(captures)
	s.several = len(sets) > 1
	if isTerminal(s.progress.w) {
		defer s.progress.watch(s.status(time.Now()))()
	}
	return s.captures(ctx, sets)
}

// memoryAlone stands for the memory of --ram where it is the capture.
const memoryAlone = ""

// first is the first capture that was named.
func first(captures []string) string {
	if len(captures) == 0 {
		return memoryAlone
	}
	return captures[0]
}

// captures goes through the captures, each of one or several files, whatever becomes of one of them.
func (s *session) captures(ctx context.Context, captures [][]string) error {
	code := exitOK
	if len(captures) == 0 {
		captures = [][]string{{memoryAlone}}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // where the output fails, nobody reads on
	jobs := s.work(ctx)
	var begun []*capture
	for i, files := range captures {
		for n := len(begun); n < len(captures); n++ {
			size, ok := s.ahead(begun[i:], captures[n])
			if !ok {
				break
			}
			begun = append(begun, s.begin(ctx, captures[n], size, jobs))
		}
		c := begun[i]
		begun[i] = nil
		err := s.finish(ctx, c, i == len(captures)-1)
		var f *failure
		switch {
		case errors.As(err, &f): // nothing more can be written, or the user does not want it
			return err
		case err != nil:
			s.progress.warn(err.Error())
			if err := s.failed(files[0], err); err != nil {
				return err
			}
		}
		if !c.made {
			code = exitNone
		}
	}
	if err := s.out.end(); err != nil {
		return err
	}
	if code == exitOK && s.opt.strict && s.incomplete {
		code = exitIncomplete
	}
	if code != exitOK {
		return &failure{code: code}
	}
	return nil // images are shared by all captures, and open as long as the process lives
}

// mostAhead bounds the bytes of the files that are open beside the capture which is written: what is compressed is ten times as large in
// a temporary file. Captures of that size have work for all processors themselves.
const mostAhead = 64 << 20

// ahead tells whether the next capture is opened beside those that are open, of which the first is written, and its size if it is. Most
// captures have one snapshot, which one processor reads, and the next are read while the output waits for one. What runs stands still
// while it is open, and is taken one after the other; so is what is no file of a known size.
func (s *session) ahead(open []*capture, next []string) (size int64, ok bool) {
	if len(open) == 0 {
		return 0, true
	}
	if len(open) >= 2*runtime.GOMAXPROCS(0) || s.opt.choice.list || len(s.opt.live.pids)+len(s.opt.live.remotes) > 0 {
		return 0, false
	}
	size = sizeOf(next)
	all := size
	for _, c := range open[1:] {
		all += c.size
	}
	return size, all <= mostAhead
}

// sizeOf is the size of files in bytes; of what is none, more than mostAhead.
func sizeOf(files []string) (n int64) {
	for _, path := range files {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			n += mostAhead + 1
		} else {
			n += info.Size()
		}
	}
	return n
}

// failed writes the object of a capture that could not be read, for programs; people are
// told on standard error.
func (s *session) failed(path string, err error) error {
	if !slices.Contains([]string{"json", "jsonl", "html", "problems"}, s.opt.format) {
		return nil
	}
	style := s.opt.style
	style.Capture = path
	err = s.out.add(s.out.piece(&report.Report{Issues: []target.Issue{{Text: err.Error()}}}, style))
	return cmp.Or(err, s.out.flush())
}

// finish writes the backtraces of a capture that was begun. An interruption does not wait for one that is slow to open. last: no walk
// follows, and what walks have learned need not take memory while places are named.
func (s *session) finish(ctx context.Context, c *capture, last bool) error {
	select {
	case <-c.opened:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	if c.err != nil {
		return c.err
	}
	write := s.writeAll
	if s.opt.choice.list {
		write = s.listProcesses
	}
	if err := write(ctx, c); err != nil {
		return err // a worker may still read the capture: it stays open
	}
	if s.out.stacks != nil {
		if last {
			s.lib.Forget()
		}
		if err := s.out.stacks.Name(ctx, s.names); err != nil {
			s.progress.warn("names: " + err.Error())
		}
	}
	if err := c.stream.Close(); err != nil {
		s.progress.warn(c.path + ": " + err.Error())
	}
	return nil
}

// open opens a capture.
func (s *session) open(ctx context.Context, files []string) (stream input.Stream, err error) {
	if env := s.lib.Env(); files[0] == memoryAlone {
		stream, err = s.lib.Open(ctx)
	} else if running, live, failed := s.opt.live.open(ctx, files[0], *env); live {
		stream, err = running, failed
	} else if s.reader != nil {
		stream, err = env.OpenReader(ctx, files[0], s.reader)
	} else {
		stream, err = s.lib.Open(ctx, files...)
	}
	if err != nil {
		return nil, err
	}
	return s.opt.choice.processes(ctx, stream, s.opt.memory.env(s.files))
}

// report unwinds a snapshot of a capture in a format, and names its frames.
func (s *session) report(ctx context.Context, snap *target.Snapshot, format string) (*report.Report, error) {
	r, err := s.lib.Report(ctx, snap)
	if err != nil {
		return nil, err
	}
	r.Issues = append(r.Issues, s.unused(snap)...)
	if snap.Sampled && s.opt.format == "signature" {
		r.Issues = append(r.Issues, target.Issue{Text: "the samples of a recording are no crashes: they have no signatures"})
	}
	s.opt.show.fill(r, s.opt.files.sysroots)
	s.advise(r, format)
	return r, nil
}

// status is the progress line.
func (s *session) status(start time.Time) func() string {
	return func() string {
		n, t := s.done.Load(), time.Since(start)
		if n == 0 {
			searched := ""
			if n := s.opt.files.searched.Load(); n > 0 {
				searched = fmt.Sprintf(", %d files searched through", n)
			}
			return fmt.Sprintf("backsight: reading, %.0f s%s", t.Seconds(), searched)
		}
		return fmt.Sprintf("backsight: %d snapshots, %.0f a second", n, float64(n)/t.Seconds())
	}
}
