// Package backsight recovers backtraces from bare binaries: given a capture of a
// stopped program (a core file, a snapshot) and its binaries as they shipped, it
// finds every thread's call chain, with or without symbols, unwind tables and
// frame pointers, and says of each frame how it was found and how sure it is.
//
//	capture ─► input ─► target.Snapshot ─► unwind.Walker ─► []unwind.Frame ─► symbol ─► render
package backsight

import (
	"context"
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/cpu/arm"
	"github.com/backsight/backsight/cpu/arm64"
	"github.com/backsight/backsight/cpu/mips"
	"github.com/backsight/backsight/cpu/riscv"
	"github.com/backsight/backsight/cpu/x86"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/input/elfcore"
	"github.com/backsight/backsight/input/snapshot"
	"github.com/backsight/backsight/internal/unwind/badcall"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/ehabi"
	"github.com/backsight/backsight/internal/unwind/exception"
	"github.com/backsight/backsight/internal/unwind/fp"
	"github.com/backsight/backsight/internal/unwind/scan"
	"github.com/backsight/backsight/internal/unwind/sigframe"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// CPUs are the processors that Backsight knows.
func CPUs() cpu.Set {
	var set cpu.Set
	for _, archs := range [][]*cpu.Arch{
		mips.Archs(),
		arm.Archs(),
		arm64.Archs(),
		riscv.Archs(),
		x86.Archs(),
	} {
		set = append(set, archs...)
	}
	return set
}

// Formats are the kinds of captures, in the order in which they are tried.
func Formats() []input.Format {
	return []input.Format{
		elfcore.Format(),
		snapshot.Format(),
	}
}

// source is an unwind source by the name that --sources uses.
type source struct {
	name string
	unwind.Source
}

// sources are the ways to find a caller, in the order of trust in which they are
// asked, and the code analysis that checks them all.
func sources() ([]source, unwind.CallGraph) {
	tables := cfi.New()
	analysis := code.New(tables.FunctionRanges)
	return []source{
		{"sigframe", sigframe.Source{}},
		{"exception", exception.Source{}},
		{"badcall", badcall.Source{}},
		{"cfi", tables},
		{"ehabi", ehabi.Source{}},
		{"code", analysis},
		{"fp", fp.Source{}},
		{"scan", scan.New(analysis, sigframe.Source{}, exception.Source{})},
	}, analysis
}

// SourceNames are the words that Options.Sources takes, in the default order.
func SourceNames() []string {
	var names []string
	all, _ := sources()
	for _, s := range all {
		names = append(names, s.name)
	}
	return names
}

// Options say how to unwind. The zero value is the default of everything.
type Options struct {
	// Sources are the unwind sources to use, by name and in order; nil: all.
	Sources []string
	// MaxFrames bounds a backtrace; 0: unwind.DefaultMaxFrames.
	MaxFrames int
	// Explain, if set, is told of everything that was tried.
	Explain func(unwind.Attempt)
	// TableDir, if set, has unwind tables that SaveTable wrote. Images that have one
	// there are unwound by it, to the same frames in less time.
	TableDir string
	// Warn, if set, is told of each file there that cannot be used. Such a table is
	// made anew.
	Warn func(error)
}

// Unwinder makes backtraces. It is safe for concurrent use; what it learns of an
// image is kept with the image, as long as that is: a program makes one and keeps it.
type Unwinder struct {
	opt  unwind.Options
	idle walkers
}

// NewUnwinder returns an Unwinder, or an error that names an unknown source.
func NewUnwinder(opt Options) (*Unwinder, error) {
	all, flow := sources()
	if opt.TableDir != "" {
		useTables(all, opt)
	}
	u := &Unwinder{opt: unwind.Options{CallGraph: flow, Shared: new(unwind.Shared), MaxFrames: opt.MaxFrames, Explain: opt.Explain}}
	names := opt.Sources
	if names == nil {
		names = SourceNames()
	}
next:
	for _, n := range names {
		for _, s := range all {
			if s.name == n {
				u.opt.Sources = append(u.opt.Sources, s.Source)
				continue next
			}
		}
		return nil, fmt.Errorf("no unwind source %q; there are %s", n, strings.Join(SourceNames(), ", "))
	}
	return u, nil
}

// Backtrace is one thread's call chain, innermost frame first, and why it ended.
type Backtrace struct {
	Thread *target.Thread
	Frames []unwind.Frame
	Stop   unwind.Stop
}

// Complete tells whether the backtrace reached the outermost frame.
func (b *Backtrace) Complete() bool { return b.Stop.Reason == unwind.StopRoot }

// Backtraces unwinds every thread of a snapshot, many of them in parallel. It stops
// early, with the backtraces that it has, when ctx ends.
func (u *Unwinder) Backtraces(ctx context.Context, snap *target.Snapshot) ([]Backtrace, error) {
	out := make([]Backtrace, len(snap.Threads))
	done := u.walk(ctx, snap, out)
	return out[:done], ctx.Err()
}

// Open opens a capture, whose format is recognised by content. "-" is standard
// input. files finds the binaries that the capture refers to.
func Open(ctx context.Context, path string, files *input.Files) (input.Stream, error) {
	return input.Open(ctx, path, Formats(), &input.Env{Archs: CPUs(), Files: files})
}
