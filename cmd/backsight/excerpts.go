//go:build !small

package main

import (
	"github.com/backsight/backsight/internal/excerpt"
	"github.com/backsight/backsight/report"
	"github.com/spf13/pflag"
)

// excerptFlags ask for more about each frame.
type excerptFlags struct{ args, locals, code, source bool }

func (e *excerptFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&e.args, "args", false, "the arguments in every frame's line, where the binary has debug information")
	f.BoolVar(&e.locals, "locals", false, "the arguments and local variables of every frame, where the binary has debug information")
	f.BoolVar(&e.code, "disassemble", false, "the instructions around every frame")
	f.BoolVar(&e.source, "source", false, "the source lines around every frame, where the files are found")
}

// How many instructions and lines are shown before and behind a frame's own.
const (
	aroundCode   = 5
	aroundSource = 3
)

// fill takes the excerpts that were asked for. Source files are looked for below sysroots.
func (e *excerptFlags) fill(r *report.Report, sysroots []string) {
	for i := range r.Threads {
		snap := r.Snapshot.Of(r.Threads[i].Thread)
		for k := range r.Threads[i].Frames {
			f := &r.Threads[i].Frames[k]
			if e.code {
				f.Detailed().Code = excerpt.Code(snap, f, aroundCode)
			}
			if e.source {
				f.Detailed().Source = excerpt.Source(sysroots, f, aroundSource)
			}
		}
	}
}

// variables tells whether frames are wanted with variables, inLine with their arguments alone.
func (e *excerptFlags) variables() bool { return e.args || e.locals }

func (e *excerptFlags) inLine() bool { return e.args && !e.locals }
