package score

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Options say what to score.
type Options struct {
	Root, Only string
	Tiers      []string
	Sources    []backsight.Source // nil: all
	// GDB scores GDB too, on each n-th snapshot; 0: not at all. Both then see the
	// same snapshots.
	GDB int
	// Wrong, if set, is told of every backtrace that is not whole.
	Wrong func(c *truth.Case, tier string, a *truth.Answer, got []Got, v Verdict)
	// Progress, if set, is told how many binaries of all are done, one call at a time.
	Progress func(done, all int)
}

// Outcome is one snapshot in one tier.
type Outcome struct {
	Case    *truth.Case
	Tier    string
	Answer  *truth.Answer
	Verdict Verdict
	// Time is the unwinding's share of its case, reading included.
	Time time.Duration
	// Peer is GDB's verdict, nil where it was not asked.
	Peer *Verdict
}

// Run scores all cases; broken lists those that could not be.
func Run(ctx context.Context, opt Options) (outcomes []Outcome, broken []error, err error) {
	cases, err := truth.Cases(opt.Root, opt.Only)
	if err != nil {
		return nil, nil, err
	}
	type job struct {
		c    *truth.Case
		tier string
	}
	var jobs []job
	for i := range cases {
		for _, tier := range opt.Tiers {
			jobs = append(jobs, job{&cases[i], tier})
		}
	}
	results := make([][]Outcome, len(jobs))
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	done := 0
	for i, j := range jobs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			s := scorer{opt: &opt, c: j.c, tier: j.tier, mu: &mu}
			results[i], errs[i] = s.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			if done++; opt.Progress != nil {
				opt.Progress(done, len(jobs))
			}
		})
	}
	wg.Wait()
	for i := range jobs {
		outcomes = append(outcomes, results[i]...)
		if errs[i] != nil {
			broken = append(broken, fmt.Errorf("%s %s: %w", jobs[i].c.Name, jobs[i].tier, errs[i]))
		}
	}
	return outcomes, broken, nil
}

// scorer scores one case in one tier.
type scorer struct {
	opt  *Options
	c    *truth.Case
	tier string
	mu   *sync.Mutex // of opt.Wrong
}

func (s *scorer) run(ctx context.Context) ([]Outcome, error) {
	images, cleanup, err := s.c.Images(s.tier)
	if err != nil {
		return nil, err
	}
	defer cleanup()
	if len(images) == 0 {
		return nil, nil
	}
	answers, err := s.c.Answers()
	if err != nil {
		return nil, err
	}
	peer, err := s.newPeer(images)
	if err != nil {
		return nil, err
	}
	defer peer.close()
	start := time.Now()
	got, err := Unwind(ctx, s.c.Snapshots(), images, s.opt.Sources, peer.add)
	each := time.Since(start) / time.Duration(max(1, len(answers)))
	if err == nil && len(got) != len(answers) {
		err = fmt.Errorf("%d backtraces for %d answers", len(got), len(answers))
	}
	if len(got) < len(answers) {
		got = append(got, make([][]Got, len(answers)-len(got))...)
	}
	var out []Outcome
	for i := range answers {
		if s.opt.GDB > 1 && i%s.opt.GDB != 0 {
			continue
		}
		o := Outcome{Case: s.c, Tier: s.tier, Answer: &answers[i], Verdict: Judge(&answers[i], got[i]), Time: each}
		s.report(&o, got[i])
		out = append(out, o)
	}
	return out, errors.Join(err, peer.judge(ctx, out))
}

func (s *scorer) report(o *Outcome, got []Got) {
	if o.Verdict.Whole || s.opt.Wrong == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opt.Wrong(s.c, s.tier, o.Answer, got, o.Verdict)
}

// Unwind makes a backtrace of the first thread of every snapshot in a file. An
// empty one stands for a snapshot that could not be read.
func Unwind(ctx context.Context, snapshots string, images []truth.Image, sources []backsight.Source, each func(*target.Snapshot)) ([][]Got, error) {
	u, err := backsight.NewUnwinder(backsight.Options{Sources: sources})
	if err != nil {
		return nil, err
	}
	files := backsight.NewFiles(input.FileOptions{Images: Named(images)})
	stream, err := backsight.Open(ctx, snapshots, input.Env{Files: files})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var all [][]Got
	for {
		snap, err := stream.Next(ctx)
		var broken *input.Error
		switch {
		case err == io.EOF:
			return all, nil
		case errors.As(err, &broken) && broken.Recoverable:
			all = append(all, nil)
			continue
		case err != nil:
			return all, err
		}
		each(snap)
		bts, err := u.Backtraces(ctx, snap)
		if err != nil {
			return all, err
		}
		all = append(all, firstThread(bts))
	}
}

// Named are the images of a case as options of an input.
func Named(images []truth.Image) (named []input.NamedImage) {
	for _, i := range images {
		named = append(named, input.NamedImage{Path: i.Path, Bias: i.Bias, Placed: i.Bias != 0})
	}
	return named
}

func firstThread(bts []backsight.Backtrace) []Got {
	if len(bts) == 0 {
		return nil
	}
	return slices.Collect(func(yield func(Got) bool) {
		for i := range bts[0].Frames {
			if !yield(gotOf(&bts[0].Frames[i])) {
				return
			}
		}
	})
}

func gotOf(f *unwind.Frame) Got {
	g := Got{PC: f.PC, Trust: f.Trust, Method: f.Method}
	if f.HasCFA {
		g.CFA = f.CFA
	}
	return g
}
