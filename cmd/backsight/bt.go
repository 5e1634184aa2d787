package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
	"github.com/spf13/cobra"
)

// btOptions are the flags of bt.
type btOptions struct {
	files      fileFlags
	memory     memoryFlags
	all, one   bool
	thread     int
	byThread   bool // --thread or --report was given
	reports    bool // list them
	dmesg      bool
	maxFrames  int
	limited    bool // --max-frames was given
	format     string
	sources    []string
	tableDir   string
	explain    bool
	registers  bool
	stackUsage bool
	show       excerptFlags
	noSymbols  bool
	demangle   bool
	noDemangle bool
	color      string
	strict     bool
	style      render.Style // but for the title
}

func newBT(stdout, stderr io.Writer) *cobra.Command {
	var o btOptions
	cmd := &cobra.Command{
		Use:   "bt [flags] CAPTURE...",
		Short: "Backtraces of a capture",
		Long: `Backtraces of every thread in a capture: a core file of Linux or macOS, JSON
snapshots, one or many, the memory of a machine that ran Linux (a vmcore, or
--ram FILE@0) or of a microcontroller, crash reports of macOS and iOS, a console's
log with reports of a kernel or of firmware; plain or compressed. The format is
recognised by content; "-" is standard input.`,
		Example: `  backsight bt core.1234
  backsight bt --sysroot rootfs/ -e build/netd core.1234
  backsight bt --image firmware.elf snapshots.jsonl.gz
  backsight bt --image fw.bin@0x80000000 --arch mips --endian big crash.json
  backsight bt -1 --explain core.1234
  backsight bt --sysroot rootfs/ serial.log
  backsight bt vmcore
  backsight bt --dmesg --ram physical.raw@0
  backsight bt build/netd core.1234
  backsight bt -e firmware.elf --ram ram.bin@0x20000000 serial.log
  zcat core.gz | backsight bt -f json - | jq '.threads[0].frames[].function'`,
		RunE: func(cmd *cobra.Command, captures []string) error {
			if len(captures) == 0 && len(o.memory.ram) == 0 {
				return errors.New("bt: no capture named; - is standard input")
			}
			if err := o.consistent(cmd, captures); err != nil {
				return err
			}
			captures = o.files.gdbOrder(captures)
			o.byThread = cmd.Flags().Changed("thread") || cmd.Flags().Changed("report")
			o.limited = cmd.Flags().Changed("max-frames")
			s := &session{opt: &o, out: output{w: stdout}, progress: newProgress(stderr)}
			return s.run(cmd.Context(), captures)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.files.add(f)
	o.memory.add(f)
	f.BoolVarP(&o.all, "all", "a", false, "all threads (default)")
	f.BoolVarP(&o.one, "one", "1", false, "only the crashed thread, or the first one")
	f.IntVar(&o.thread, "thread", 0, "only the thread with this `ID`")
	f.IntVar(&o.thread, "report", 0, "only report `N` of a log, counted from 0")
	f.BoolVar(&o.reports, "reports", false, "list the reports of a log")
	f.BoolVar(&o.dmesg, "dmesg", false, "only the kernel's log, out of the memory of a machine")
	f.IntVarP(&o.maxFrames, "max-frames", "n", unwind.DefaultMaxFrames, "at most `N` frames of a backtrace; 0: all")
	f.StringVarP(&o.format, "format", "f", "text", "`FORMAT`: text, json (several snapshots are an array), jsonl (one line each), html (one page), apple (a crash report of macOS), problems (a compiler's messages), folded (for flame graphs) or pprof (both count the stacks of all captures)")
	f.StringSliceVar(&o.sources, "sources", nil, "`LIST` of unwind sources to use, in this order: "+strings.Join(backsight.SourceNames(), ","))
	f.StringVar(&o.tableDir, "table-dir", "", "`DIR` with unwind tables that 'backsight table -o DIR' wrote")
	f.BoolVar(&o.explain, "explain", false, "say under every frame how it was found and what was tried")
	f.BoolVar(&o.registers, "registers", false, "the registers of every thread's innermost frame")
	f.BoolVar(&o.stackUsage, "stack-usage", false, "what each frame takes of the stack, in bytes")
	o.show.add(f)
	f.BoolVar(&o.noSymbols, "no-symbols", false, "modules and offsets only")
	f.BoolVar(&o.demangle, "demangle", true, "readable names of C++ and Rust functions")
	f.BoolVar(&o.noDemangle, "no-demangle", false, "names as they are in the file")
	f.StringVar(&o.color, "color", "auto", "`WHEN`: auto, always or never; auto honours NO_COLOR")
	f.BoolVar(&o.strict, "strict", false, "exit 1 unless every backtrace reaches its root without a guess")
	complete(cmd, usualValues(formats, backsight.SourceNames()))
	return cmd
}

// consistent finds flags that exclude one another, and names that are empty.
func (o *btOptions) consistent(cmd *cobra.Command, captures []string) error {
	return errors.Join(exclusive(cmd, "all", "one", "thread", "report", "reports", "dmesg"), exclusive(cmd, "demangle", "no-demangle"),
		named("bt", captures), named("--image", o.files.images), named("--ram", o.memory.ram))
}

// formats are the values of --format.
var formats = []string{"text", "json", "jsonl", "html", "apple", "problems", "folded", "pprof"}

// check finds wrong values, and what depends on the output.
func (o *btOptions) check(stdout io.Writer) (err error) {
	if !slices.Contains(formats, o.format) {
		return fmt.Errorf("--format %q is none of %s", o.format, strings.Join(formats, ", "))
	}
	if o.maxFrames < 0 {
		return fmt.Errorf("--max-frames %d is negative", o.maxFrames)
	}
	o.style.Registers, o.style.Modules, o.style.Version = o.registers, o.show.modules, version()
	o.style.StackUsage = o.stackUsage
	o.style.Color, err = colored(o.color, stdout)
	return err
}

// allFrames is no limit: a stack of so many frames would take more than the memory of any
// capture.
const allFrames = 1 << 30

// limit is how many frames a backtrace has at most. Where people read it, recursion is
// folded, and the default is all of them: the outermost frames tell who began.
func (o *btOptions) limit() int {
	if o.maxFrames == 0 || o.format == "text" && !o.limited {
		return allFrames
	}
	return o.maxFrames
}

// selected are the unwind sources that --sources names, nil where it was not given.
func (o *btOptions) selected() ([]backsight.Source, error) {
	if o.sources == nil {
		return nil, nil
	}
	if len(slices.DeleteFunc(slices.Clone(o.sources), func(s string) bool { return s == "" })) == 0 {
		return nil, errors.New("names no unwind source")
	}
	for i, s := range o.sources {
		if slices.Contains(o.sources[:i], s) {
			return nil, fmt.Errorf("%q is named twice", s)
		}
	}
	return backsight.SelectSources(o.sources...)
}

// symbolizer is nil where names are not wanted.
func (o *btOptions) symbolizer() backsight.Symbolizer {
	if o.noSymbols {
		return nil
	}
	return &symbol.Symbolizer{Mangled: o.noDemangle || !o.demangle}
}

// choose leaves the threads in a snapshot that were asked for.
func (o *btOptions) choose(snap *target.Snapshot) error {
	switch {
	case o.byThread:
		i := slices.IndexFunc(snap.Threads, func(t target.Thread) bool { return t.ID == o.thread })
		if i < 0 {
			return fmt.Errorf("no thread %d; there are %s", o.thread, threadIDs(snap))
		}
		snap.Threads = snap.Threads[i : i+1]
	case o.one && len(snap.Threads) > 1:
		i := max(0, slices.IndexFunc(snap.Threads, func(t target.Thread) bool { return t.Crashed }))
		snap.Threads = snap.Threads[i : i+1]
	}
	return nil
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
