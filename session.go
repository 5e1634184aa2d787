package backsight

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// Config says what a Session reads and tells. The zero value does what the command does without flags.
type Config struct {
	// Files say where binaries are, see NewFiles.
	Files input.FileOptions
	// Symbols are paths of lists of symbols and of symbol files, or of directories of them: input.Files.ReadSymbols.
	Symbols []string
	// RAM and Regs are memory and registers beside a capture, or the capture itself: input.Env.
	RAM  []input.NamedImage
	Regs string
	// Unwind says how to unwind. Turns of long recursion are always folded.
	Unwind Options
	// Explain keeps what was tried for each frame: report.Thread.Tried.
	Explain bool
	// SystemThreads leaves a Go program's threads as the system has them; else its goroutines are threads.
	SystemThreads bool
	// Names names places; nil: Names(false).
	Names Symbolizer
	// Nameless leaves frames without names.
	Nameless bool
	// Variables reads each frame's arguments and local variables, by debug information.
	Variables bool
	// Unsigned leaves out the signatures of threads.
	Unsigned bool
	// Choose, if set, is shown each snapshot before its backtraces are made. It may take threads out of it; its error ends the
	// snapshot's report.
	Choose func(*target.Snapshot) error
}

// Session makes reports of captures that share their binaries. It is safe for concurrent use.
type Session struct {
	config   Config
	env      input.Env
	unwinder *Unwinder
}

// NewSession makes a Session, which must be closed. The error names what of config is wrong or cannot be read.
func NewSession(config Config) (*Session, error) {
	files := NewFiles(config.Files)
	if err := files.ReadSymbols(config.Symbols); err != nil {
		return nil, errors.Join(err, files.Close())
	}
	s, err := SessionOf(files, config)
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	return s, nil
}

// SessionOf is NewSession with files that are there already, which the Session closes; config.Files and config.Symbols are ignored.
func SessionOf(files *input.Files, config Config) (*Session, error) {
	config.Unwind.Fold = true
	u, err := NewUnwinder(config.Unwind)
	if err != nil {
		return nil, err
	}
	switch {
	case config.Nameless:
		config.Names = nil
	case config.Names == nil:
		config.Names = Names(false)
	}
	env := input.Env{Archs: files.Archs(), Formats: Formats(), Files: files, RAM: config.RAM, Regs: config.Regs}
	return &Session{config: config, env: env, unwinder: u}, nil
}

// Env is what the session's captures are opened with.
func (s *Session) Env() *input.Env { return &s.env }

// Files are the binaries of the session.
func (s *Session) Files() *input.Files { return s.env.Files }

// Open opens a capture of one or several files, as input.Env.Sets groups them; without paths the memory of Config.RAM is the capture.
func (s *Session) Open(ctx context.Context, paths ...string) (input.Stream, error) {
	if len(paths) == 0 {
		return s.env.OpenMemory(ctx)
	}
	return s.env.OpenSet(ctx, paths)
}

// Report unwinds a snapshot of one of the session's captures and names its frames. It is of use until the capture is closed.
func (s *Session) Report(ctx context.Context, snap *target.Snapshot) (*report.Report, error) {
	traces, err := s.Backtraces(ctx, snap)
	if err != nil {
		return nil, err
	}
	r := s.Named(ctx, snap, traces)
	if s.config.Variables {
		s.unwinder.Variables(ctx, r, Names(false))
		r.Issues = append(r.Issues, noVariables(r)...)
	}
	if !s.config.Unsigned {
		sign(ctx, r)
	}
	return r, nil
}

// Backtraces unwinds a snapshot of one of the session's captures.
func (s *Session) Backtraces(ctx context.Context, snap *target.Snapshot) ([]Backtrace, error) {
	if !s.config.SystemThreads {
		if err := Goroutines(ctx, snap); err != nil {
			return nil, err
		}
	}
	if s.config.Choose != nil {
		if err := s.config.Choose(snap); err != nil {
			return nil, err
		}
	}
	if s.config.Explain {
		return s.unwinder.ExplainedBacktraces(ctx, snap)
	}
	return s.unwinder.Backtraces(ctx, snap)
}

// Forget drops what backtraces have taught about binaries: see Unwinder.Forget.
func (s *Session) Forget() { s.unwinder.Forget() }

// Named names the frames of Backtraces, or of some of them: who counts stacks names each place once.
func (s *Session) Named(ctx context.Context, snap *target.Snapshot, traces []Backtrace) *report.Report {
	return Report(ctx, snap, traces, s.config.Names)
}

// Reports are those of a capture's snapshots, in order. Each is of use until the loop goes on; the capture is closed behind the
// last one. An error is of one snapshot, and further reports follow, where it is an input.Error that is Recoverable.
func (s *Session) Reports(ctx context.Context, paths ...string) iter.Seq2[*report.Report, error] {
	return func(yield func(*report.Report, error) bool) {
		capture, err := s.Open(ctx, paths...)
		if err != nil {
			yield(nil, err)
			return
		}
		defer capture.Close()
		for {
			snap, err := capture.Next(ctx)
			if err == io.EOF {
				return
			}
			var r *report.Report
			var wrong *input.Error
			last := err != nil && !(errors.As(err, &wrong) && wrong.Recoverable)
			if err == nil {
				r, err = s.Report(ctx, snap)
			}
			if !yield(r, err) || last {
				return
			}
		}
	}
}

// Close closes the session's binaries.
func (s *Session) Close() error { return s.env.Files.Close() }

// Backtraces are the reports of one capture, from its path to names of frames: each is of use until the loop goes on. Errors can be
// told apart by errors.Is (input.ErrUnrecognised, fs.ErrNotExist) and errors.As (*input.Error says file, offset and reason).
func Backtraces(ctx context.Context, path string, config Config) iter.Seq2[*report.Report, error] {
	return func(yield func(*report.Report, error) bool) {
		s, err := NewSession(config)
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.Close()
		s.Reports(ctx, path)(yield)
	}
}

// noVariables says that no frame has variables to show, nil where one has.
func noVariables(r *report.Report) []target.Issue {
	frames := 0
	for i := range r.Threads {
		for k := range r.Threads[i].Frames {
			if d := r.Threads[i].Frames[k].Details; d != nil && len(d.Variables) > 0 {
				return nil
			}
			frames++
		}
	}
	if frames == 0 {
		return nil
	}
	return []target.Issue{{Kind: target.IssueNames, Text: "there are no variables to show: no frame's function has variables in debug information"}}
}
