package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/render"
)

// btOptions are the flags of bt.
type btOptions struct {
	files       fileFlags
	memory      memoryFlags
	choice      choiceFlags
	sample      sampleFlags
	walk        walkFlags
	names       nameFlags
	show        excerptFlags
	format      string
	color       string
	strict      bool
	wantsAdvice bool
	live        processes
	goroutines  bool
	stored      bool         // captures are in systemd-coredump's folder
	style       render.Style // but for the title
}

func newBT(stdout, stderr io.Writer) *subcommand {
	var o btOptions
	cmd := &subcommand{
		Use:     "bt [flags] CAPTURE...",
		Short:   "Backtraces of a capture",
		Long:    btLong,
		Example: btExample,
		RunE: func(cmd *subcommand, captures []string) error {
			if o.stored {
				store := coreStore{dir: coredumpDir, warn: func(s string) { complain(stderr, s) }}
				defer store.close()
				var err error
				if captures, err = store.cores(cmd.Context(), captures); err != nil {
					return &failure{exitNone, err}
				}
			}
			o.live.pids = o.sample.running(captures)
			if len(captures) == 0 && len(o.memory.ram) == 0 && len(o.live.pids)+len(o.live.remotes) == 0 {
				return errors.New("bt: no capture named; - is standard input")
			}
			if err := cmp.Or(o.consistent(cmd, captures), o.sample.check(cmd)); err != nil {
				return err
			}
			captures = append(o.files.gdbOrder(captures), o.live.captures()...)
			o.live.use(&o.files)
			o.choice.given(cmd.Flags())
			o.walk.limited = cmd.Flags().Changed("max-frames")
			s := &session{opt: &o, out: output{w: stdout}, progress: newProgress(stderr)}
			defer o.live.release()
			defer o.live.sayStops(s.progress.warn)
			return s.run(cmd.Context(), captures)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.files.add(f)
	o.memory.add(f)
	o.live.addRemote(f)
	f.DurationVar(&o.live.every, "every", time.Second, "with --count: `TIME` between two looks at a process")
	f.BoolVar(&o.live.freeze, "freeze", false, "with -p: the process stands still until its backtraces are made")
	f.IntVar(&o.live.count, "count", 1, "look `N` times at a process: what one that hangs does, with -f folded or flame")
	f.BoolVar(&o.stored, "coredumpctl", false, "read the newest core that systemd-coredump keeps, in its folder or in the journal; CAPTURE is a program or a process ID")
	f.BoolVar(&o.goroutines, "goroutines", true, "of a Go program the goroutines, with the threads that run them; without, the system's threads")
	o.choice.add(f)
	o.sample.add(cmd)
	o.walk.add(f)
	f.StringVarP(&o.format, "format", "f", "text", formHelp())
	f.BoolVar(&o.style.Registers, "registers", false, "the registers of every thread's innermost frame")
	f.BoolVar(&o.style.StackUsage, "stack-usage", false, "what each frame takes of the stack, in bytes")
	f.BoolVar(&o.style.Modules, "modules", false, "the binaries: where they are mapped, their build IDs, which are missing")
	o.show.add(f)
	o.names.add(f)
	f.StringVar(&o.color, "color", "auto", "`WHEN`: auto, always or never; auto honours NO_COLOR")
	f.BoolVar(&o.strict, "strict", false, "exit 1 unless every backtrace reaches its root without a guess")
	o.addAdvise(f)
	complete(cmd, formNames(), backsight.SourceNames())
	return cmd
}

// consistent finds flags that exclude one another, and names that are empty.
func (o *btOptions) consistent(cmd *subcommand, captures []string) error {
	return errors.Join(exclusive(cmd, "all", "one", "thread", "report", "reports", "dmesg", "list"), exclusive(cmd, "demangle", "no-demangle"),
		named("bt", captures), named("--image", o.files.images), named("--ram", o.memory.ram), addressed("--image", o.files.images), addressed("--ram", o.memory.ram), addressed("--exe", []string{o.files.exe}),
		o.live.consistent())
}

// check finds wrong values, and what depends on the output.
func (o *btOptions) check(stdout io.Writer) (err error) {
	if names := formNames(); !slices.Contains(names, o.format) {
		return fmt.Errorf("--format %q is none of %s", o.format, strings.Join(names, ", "))
	}
	if o.walk.maxFrames < 0 {
		return fmt.Errorf("--max-frames %d is negative", o.walk.maxFrames)
	}
	o.style.Version, o.style.Width = version(), columns(stdout)
	o.style.Legend, o.style.Arguments = isTerminal(stdout), o.show.inLine()
	o.style.Color, err = colored(o.color, stdout)
	return err
}
