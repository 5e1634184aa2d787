//go:build !small

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/elfcore"
	"github.com/backsight/backsight/internal/outfile"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
	"github.com/spf13/cobra"
)

// redactOptions are the flags of redact.
type redactOptions struct {
	files  fileFlags
	memory memoryFlags
	output string
}

func newRedact(stdout, stderr io.Writer) *cobra.Command {
	var o redactOptions
	cmd := &cobra.Command{
		Use:   "redact -o FILE [flags] CORE",
		Short: "A core without the program's data, with the same backtraces",
		Long: `Writes a core of Linux again with all memory blank but for addresses of code and
of stacks: no environment, no arguments, no strings, no heap, no floating-point
registers. The backtraces of the new core are made and compared with those of
the old: where a frame would differ, nothing is written. What remains is said.
Cores of Linux alone are redacted: minidumps and other captures are refused.`,
		Example: `  backsight redact -o clean.core core.1234
  backsight redact --sysroot rootfs -o clean.core core`,
		Args: oneArgument("a core"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], stdout, newProgress(stderr))
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.output, "output", "o", "", "the `FILE` to write")
	o.files.add(f)
	complete(cmd, nil, nil)
	return cmd
}

func (o *redactOptions) run(ctx context.Context, path string, stdout io.Writer, p *progress) error {
	switch {
	case o.output == "":
		return errors.New("redact: give the file to write with -o")
	case sameFile(o.output, path):
		return fmt.Errorf("-o %s is the capture itself", o.output)
	}
	files, err := o.files.open(ctx, p.warn)
	if err != nil {
		return err
	}
	defer files.Close()
	env := o.memory.env(files)
	before, err := walk(ctx, path, env)
	if err != nil {
		return &failure{exitNone, err}
	}
	defer before.stream.Close()
	for _, issue := range before.snap.Issues {
		p.warn(issue.Text)
	}
	keep := needed(before.snap, before.traces)
	var remains elfcore.Remains
	err = outfile.Write(ctx, o.output, 0o600, func(f *os.File) error {
		if remains, err = blanked(ctx, path, env, keep, f); err != nil {
			return err
		}
		after, err := walk(ctx, f.Name(), env)
		if err != nil {
			return err
		}
		defer after.stream.Close()
		return sameFrames(before.traces, after.traces)
	})
	if err != nil {
		return &failure{exitNone, cmp.Or(notWritten(o.output, err), err)}
	}
	if before.goroutines(ctx) {
		p.warn("the goroutines that do not run cannot be listed any more: what Go's runtime knows of them is blank")
	}
	_, err = fmt.Fprintf(stdout, "%s: the same %d frames in %d threads; %d bytes blanked\n"+
		"what remains: %d words that point to code or stacks, or are return addresses; %d bytes of code and headers of binaries,\n"+
		"%d of the dynamic linker's list of them; %d that the kernel saved for signal handlers; paths of binaries, the program's path, the fault\n",
		o.output, frames(before.traces), len(before.traces), remains.Blanked, remains.Words, remains.Code, remains.Linked, remains.Saved)
	return err
}

// blanked writes the core at path without what is not to be kept; compressed, too, it is seen through.
func blanked(ctx context.Context, path string, env input.Env, keep *elfcore.Keep, w io.Writer) (remains elfcore.Remains, err error) {
	core := elfcore.Format()
	core.Open = func(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
		data, err := c.Bytes(ctx)
		if err == nil {
			remains, err = elfcore.Redact(ctx, data, env, keep, w)
		}
		return input.One(new(target.Snapshot)), err
	}
	env.Formats = []input.Format{core}
	stream, err := backsight.Open(ctx, path, env)
	if err != nil {
		return remains, err
	}
	return remains, stream.Close()
}

// walked is a core and its backtraces, recursion folded.
type walked struct {
	stream input.Stream
	snap   *target.Snapshot
	traces []backsight.Backtrace
}

// walk makes the backtraces of a core, whose stream is to be closed.
func walk(ctx context.Context, path string, env input.Env) (w walked, err error) {
	if w.stream, err = backsight.Open(ctx, path, env); err != nil {
		return w, err
	}
	if w.snap, err = w.stream.Next(ctx); err == nil {
		var u *backsight.Unwinder
		if u, err = backsight.NewUnwinder(backsight.Options{MaxFrames: allFrames, Fold: true}); err == nil {
			w.traces, err = u.Backtraces(ctx, w.snap)
		}
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("%s: %w", path, err), w.stream.Close())
	}
	return w, err
}

// goroutines tells whether the core is a Go program's.
func (w *walked) goroutines(ctx context.Context) bool {
	snap := *w.snap
	err := backsight.Goroutines(ctx, &snap)
	return err == nil && slices.ContainsFunc(snap.Threads, func(t target.Thread) bool { return t.Task != nil && t.Task.Goroutine != nil })
}

// needed is what of a snapshot's memory its backtraces read.
func needed(snap *target.Snapshot, traces []backsight.Backtrace) *elfcore.Keep {
	k := &elfcore.Keep{WordSize: snap.Arch.AddrSize, Mask: snap.Arch.AddrMask(), Values: map[uint64]bool{}}
	for _, m := range snap.Modules {
		k.Code = append(k.Code, m.Range)
	}
	for _, s := range snap.Memory.Segments() {
		if s.Perm&target.PermExec != 0 {
			k.Code = append(k.Code, target.RangeOf(s.Addr, s.Size()))
		}
	}
	for i := range traces {
		t := &traces[i]
		k.Stacks = append(k.Stacks, snap.StackOf(t.Thread))
		for _, reg := range []cpu.Reg{snap.Arch.PC, snap.Arch.SP, snap.Arch.LR, snap.Arch.FP} {
			if v, ok := t.Thread.Regs.Lookup(reg); ok {
				k.Values[v&k.Mask] = true
			}
		}
		for n := range t.Frames {
			f := &t.Frames[n]
			k.Values[f.PC] = true
			if f.Method == unwind.MethodSigframe && f.HasCFA && n+1 < len(t.Frames) {
				k.Saved = append(k.Saved, saved(t.Frames, n))
			}
		}
	}
	k.Code, k.Stacks, k.Saved = merged(k.Code), merged(k.Stacks), merged(k.Saved)
	return k
}

// mostSaved bounds what a kernel saves for a signal handler: x86's vector registers take some 11 kB.
const mostSaved = 16 << 10

// saved is where the kernel has saved the registers of what frame n, a signal trampoline, interrupted: from the handler's
// CFA on.
func saved(frames []unwind.Frame, n int) target.Range {
	lo := frames[n].CFA
	if n > 0 && frames[n-1].HasCFA {
		lo = frames[n-1].CFA
	}
	hi := lo + mostSaved
	if frames[n].CFA > lo && frames[n].CFA-lo < mostSaved {
		hi = frames[n].CFA
	}
	return target.Range{Lo: lo, Hi: hi}
}

// merged are ranges sorted, those that meet made one.
func merged(list []target.Range) (out []target.Range) {
	slices.SortFunc(list, func(a, b target.Range) int { return cmp.Compare(a.Lo, b.Lo) })
	for _, r := range list {
		switch n := len(out); {
		case r.Lo >= r.Hi:
		case n > 0 && r.Lo <= out[n-1].Hi:
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
		default:
			out = append(out, r)
		}
	}
	return out
}

// sameFrames tells where the frames of two lists of backtraces differ.
func sameFrames(a, b []backsight.Backtrace) error {
	if len(a) != len(b) {
		return fmt.Errorf("%d threads became %d", len(a), len(b))
	}
	for i := range a {
		if n := firstOther(&a[i], &b[i]); n >= 0 {
			return fmt.Errorf("frame %d of thread %d would differ: more is needed of this core than addresses of code and stacks", a[i].Repeats.Number(n), a[i].Thread.ID)
		}
	}
	return nil
}

// firstOther is the index of the first frame of two threads that differs, or that one of them does not have; -1 for none.
func firstOther(a, b *backsight.Backtrace) int {
	for n := range max(len(a.Frames), len(b.Frames)) {
		if n >= len(a.Frames) || n >= len(b.Frames) {
			return n
		}
		if x, y := &a.Frames[n], &b.Frames[n]; x.PC != y.PC || x.CFA != y.CFA || x.Method != y.Method || x.Trust != y.Trust {
			return n
		}
	}
	if a.Stop != b.Stop || !slices.Equal(a.Repeats, b.Repeats) {
		return len(a.Frames)
	}
	return -1
}

func frames(list []backsight.Backtrace) (n int) {
	for i := range list {
		n += list[i].Repeats.Count(len(list[i].Frames))
	}
	return n
}
