//go:build !small

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/internal/follow"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
	"github.com/spf13/cobra"
)

// watchOptions are the flags of watch.
type watchOptions struct {
	files  fileFlags
	memory memoryFlags
	format string
	color  string
	exec   string
	quiet  bool
	toEnd  bool
	fail   bool
	pause  time.Duration
	// annotate: the text goes on unchanged, with names behind addresses; backtraces: and with them.
	annotate, backtraces bool
}

const defaultPause = 250 * time.Millisecond

func newWatch(stdout, stderr io.Writer) *cobra.Command {
	o := watchOptions{backtraces: true}
	cmd := &cobra.Command{
		Use:   "watch [flags] TTY|FILE|-",
		Short: "Backtraces under each crash report as a console prints it",
		Long: `Follows a serial console, a log file that grows, or standard input; passes its
text on, and writes the backtraces under each crash report as it comes. Noise
and resets of the device do no harm. Set the speed of a serial line before:
stty -F /dev/ttyUSB0 115200

-f problems writes "FILE:LINE: error: …", as compilers do; in VS Code the
matcher is $gcc. Exit code: 0; 1 with --fail where a report came; 2 where the
console cannot be read.`,
		Example: `  backsight watch -e build/fw.elf /dev/ttyUSB0
  backsight watch -e fw.elf --format problems --quiet serial.log
  ssh target journalctl -kf | backsight watch --sysroot rootfs/ -
  run-on-hardware | backsight watch -e fw.elf --fail - # 1 where a report came`,
		Args: oneArgument("a terminal, a file or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], stdout, stderr)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.files.add(f)
	o.memory.add(f)
	f.StringVarP(&o.format, "format", "f", "text", "`FORMAT` of backtraces: "+strings.Join(watchFormats, ", ")+" (as a compiler's messages)")
	f.StringVar(&o.color, "color", "auto", "`WHEN`: auto, always or never; auto honours NO_COLOR")
	f.StringVar(&o.exec, "exec", "", "run `COMMAND` for each report, with the backtraces as JSON on its standard input")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "backtraces only, not the console's text")
	f.BoolVar(&o.toEnd, "to-end", false, "stop at the end of a file instead of waiting for more")
	f.BoolVar(&o.fail, "fail", false, "exit 1 where a crash report came")
	f.DurationVar(&o.pause, "pause", defaultPause, "how long (`TIME`: 250ms, 1s) a console is silent behind a report, if it is")
	return cmd
}

// watchFormats are the values of --format.
var watchFormats = []string{"text", "jsonl", "problems"}

func (o *watchOptions) run(ctx context.Context, path string, stdout, stderr io.Writer) error {
	if !slices.Contains(watchFormats, o.format) {
		return fmt.Errorf("--format %q is none of %s", o.format, strings.Join(watchFormats, ", "))
	}
	if o.exec != "" && strings.TrimSpace(o.exec) == "" {
		return errors.New("--exec names no command")
	}
	color, err := colored(o.color, stdout)
	if err != nil {
		return err
	}
	talk := newProgress(stderr)
	files, err := o.files.open(ctx, talk.warn)
	if err != nil {
		return err
	}
	defer files.Close()
	unwinder, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return err
	}
	env := o.memory.env(files)
	source, err := openConsole(ctx, path, o.toEnd, env)
	if err != nil {
		return &failure{exitNone, err}
	}
	defer source.Close()
	w := watcher{opt: o, name: displayName(path), unwinder: unwinder, env: env, stdout: stdout, progress: talk}
	w.style = render.Style{Color: color, Version: version(), Capture: path}
	w.env.Formats = slices.DeleteFunc(backsight.Formats(), func(f input.Format) bool { return !isConsole(f) })
	if o.annotate {
		w.names, w.raw = newAnnotator(files), !isTerminal(stdout)
	}
	if err := w.follow(ctx, source); err != nil {
		return err
	}
	if o.fail && w.reports > 0 {
		return &failure{code: exitIncomplete}
	}
	return nil
}

// watcher follows one console.
type watcher struct {
	opt      *watchOptions
	name     string
	unwinder *backsight.Unwinder
	env      input.Env
	style    render.Style
	stdout   io.Writer
	progress *progress
	reports  int
	names    *annotator // nil: none are wanted
	raw      bool       // the text's bytes go on as they are
}

// follow passes the console's text on, line by line, until it ends, and looks at its reports as they end.
func (w *watcher) follow(ctx context.Context, source io.Reader) error {
	chunks := readChunks(ctx, source)
	pause := time.NewTimer(w.opt.pause)
	defer pause.Stop()
	f := follow.Follower{Reports: w.read(ctx), Pause: w.opt.pause}
	var line []byte
	for {
		var p follow.Portion
		select {
		case <-ctx.Done():
			return w.look(context.WithoutCancel(ctx), f.Rest())
		case c := <-chunks:
			if c.err != nil {
				var err error
				if len(line) > 0 {
					err = w.echo(&line, []byte("\n"))
				}
				return errors.Join(err, w.look(ctx, f.Rest()), w.ended(c.err))
			}
			if err := w.echo(&line, c.text); err != nil {
				return err
			}
			if !w.opt.backtraces {
				continue
			}
			pause.Reset(w.opt.pause)
			p = f.Add(follow.Printable(c.text), time.Now())
		case <-pause.C:
			p = f.Rest()
		}
		if err := w.look(ctx, p); err != nil {
			return err
		}
	}
}

// read reads the reports of a text.
func (w *watcher) read(ctx context.Context) func(text []byte) input.Reports {
	env := w.env
	env.Archs = backsight.CPUs()
	return func(text []byte) (found input.Reports) {
		_ = mapped.Guard(func() { found = env.Formats[0].Reports(ctx, text, &env) }) // look tells of a binary that is cut short meanwhile
		return found
	}
}

// ended is nil for the end of a console's text, else why the console cannot be read on.
func (w *watcher) ended(err error) error {
	if err == io.EOF {
		return nil
	}
	return &failure{exitNone, fmt.Errorf("%s: cannot be read: %w", w.name, err)}
}

// echo writes the lines that are whole. Control characters are shown, not sent: the text
// comes from a device that may be out of its mind.
func (w *watcher) echo(line *[]byte, chunk []byte) error {
	if w.opt.quiet {
		return nil
	}
	*line = append(*line, chunk...)
	var out []byte
	for {
		i := bytes.IndexByte(*line, '\n')
		if i < 0 && len(*line) < 4096 {
			break
		}
		if i < 0 {
			i = len(*line) - 1
		}
		whole := string((*line)[:i+1])
		*line = (*line)[i+1:]
		text := typeset.Text(strings.TrimRight(whole, "\r\n"))
		if text == "" && len(*line) == 0 && !w.opt.annotate {
			break
		}
		out = append(out, w.named(whole, text)...)
	}
	if len(out) == 0 {
		return nil
	}
	if _, err := w.stdout.Write(out); err != nil {
		return outputFailed(err)
	}
	return nil
}

// named is a line with its end, with names where these are wanted. text is the line without control characters, for people.
func (w *watcher) named(whole, text string) string {
	if text += "\n"; w.raw {
		text = whole
	}
	if w.names == nil {
		return text
	}
	return w.names.line(text)
}

// open reads the reports of what a console printed, with the memory beside it.
func (w *watcher) open(ctx context.Context, p follow.Portion) (input.Stream, error) {
	if p.Read != nil && len(w.env.RAM) == 0 {
		return p.Read(ctx)
	}
	return backsight.OpenReader(ctx, w.name, bytes.NewReader(p.Text), w.env)
}

// look writes the backtraces of the reports in what a console printed.
func (w *watcher) look(ctx context.Context, p follow.Portion) error {
	if len(p.Text) == 0 {
		return nil
	}
	stream, err := w.open(ctx, p)
	if errors.Is(err, input.ErrUnrecognised) {
		return nil
	}
	if err != nil {
		w.progress.warn(err.Error())
		return nil
	}
	defer stream.Close()
	for {
		snap, err := stream.Next(ctx)
		if err != nil {
			return nil
		}
		traces, err := w.unwinder.Backtraces(ctx, snap)
		if err != nil {
			w.progress.warn(err.Error())
			return nil
		}
		w.reports++
		r := backsight.Report(ctx, snap, traces, backsight.Names(false))
		if err := w.write(ctx, r); err != nil {
			return err
		}
	}
}

// write writes a report, and runs the user's command with it.
func (w *watcher) write(ctx context.Context, r *report.Report) error {
	for _, issue := range r.Issues {
		w.progress.warn(issue.Text)
	}
	var out []byte
	switch w.opt.format {
	case "jsonl":
		out = render.AppendJSONLine(nil, r, w.style)
	case "problems":
		out = display.AppendProblems(nil, r)
	default:
		out = append(render.AppendText([]byte{'\n'}, r, w.style), '\n')
	}
	if _, err := w.stdout.Write(out); err != nil {
		return outputFailed(err)
	}
	if w.opt.exec == "" {
		return nil
	}
	words := strings.Fields(w.opt.exec)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin = bytes.NewReader(render.AppendJSON(nil, r, w.style))
	cmd.Stdout, cmd.Stderr = w.stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		complain(w.progress.w, fmt.Sprintf("--exec %s: %v", words[0], err)) // each time
	}
	return nil
}
