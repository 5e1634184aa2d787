package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
)

// Options say what is damaged.
type Options struct {
	Logs     []string // files
	Sysroots []string
	N        int    // of each damage, for each log
	Seed     uint64 // of the choice
	// Bad is told of each fault, and of the damaged log.
	Bad func(f Finding)
	// Left is told of each log that is left out: why no report is read of it, undamaged.
	Left func(log string, why error)
}

// Finding is a chain of a damaged log with faults.
type Finding struct {
	Log, Damage string
	Thread      string
	Faults      []fault
	Text        []byte
}

// Count is what became of the logs with one damage.
type Count struct{ Logs, Wrong, Certain int }

// Run damages logs, and counts by the damage's name.
func Run(ctx context.Context, opt Options) (map[string]*Count, error) {
	r := runner{opt: opt, env: input.Env{Files: backsight.NewFiles(input.FileOptions{Sysroots: opt.Sysroots})}, counts: map[string]*Count{}}
	defer r.env.Files.Close()
	var err error
	if r.unwinder, err = backsight.NewUnwinder(backsight.Options{}); err != nil {
		return nil, err
	}
	for _, path := range opt.Logs {
		if err := r.log(ctx, path); err != nil {
			return r.counts, fmt.Errorf("%s: %w", path, err)
		}
	}
	return r.counts, nil
}

type runner struct {
	opt      Options
	env      input.Env
	unwinder *backsight.Unwinder
	counts   map[string]*Count
}

func (r *runner) log(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, whole, err := r.chains(ctx, path, text)
	if err != nil {
		if ctx.Err() == nil {
			r.opt.Left(path, err)
		}
		return ctx.Err()
	}
	lines := strings.Split(string(text), "\n")
	worth, rnd := places(lines), rand.New(rand.NewPCG(r.opt.Seed, 0))
	for _, d := range Damages() {
		for n := 0; n < r.opt.N && len(worth) > 0; n++ {
			damaged := d.apply(append([]string(nil), lines...), worth[rnd.IntN(len(worth))], rnd)
			if err := r.judge(ctx, path, d.Name, []byte(strings.Join(damaged, "\n")), whole); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge counts what becomes of a damaged log. That nothing is left of a log is no fault.
func (r *runner) judge(ctx context.Context, path, damage string, text []byte, whole [][]frame) error {
	c := r.counts[damage]
	if c == nil {
		c = new(Count)
		r.counts[damage] = c
	}
	c.Logs++
	names, chains, err := r.chains(ctx, path, text)
	if err != nil && ctx.Err() != nil {
		return err
	}
	wrong, certain := false, false
	for i, chain := range chains {
		list := best(chain, whole)
		for _, f := range list {
			wrong, certain = true, certain || f.Certain
		}
		if len(list) > 0 {
			r.opt.Bad(Finding{path, damage, names[i], list, text})
		}
	}
	if wrong {
		c.Wrong++
	}
	if certain {
		c.Certain++
	}
	return nil
}

// chains are those of all reports of a log, and their names.
func (r *runner) chains(ctx context.Context, path string, text []byte) (names []string, chains [][]frame, err error) {
	stream, err := backsight.OpenReader(ctx, path, bytes.NewReader(text), r.env)
	if err != nil {
		return nil, nil, err
	}
	defer stream.Close()
	for {
		snap, err := stream.Next(ctx)
		if err == io.EOF {
			return names, chains, nil
		}
		if err != nil {
			return names, chains, err
		}
		traces, err := r.unwinder.Backtraces(ctx, snap)
		if err != nil {
			return names, chains, err
		}
		rep := backsight.Report(ctx, snap, traces, backsight.Names(false))
		for i := range rep.Threads {
			names = append(names, rep.Threads[i].Name)
			chains = append(chains, chainOf(&rep.Threads[i]))
		}
	}
}
