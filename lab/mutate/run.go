package mutate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/lab/score"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Options say what to damage.
type Options struct {
	Root, Only string
	Tiers      []string
	// Every damages each n-th capture only.
	Every int
	Seed  uint64
	// Bits does OneBit instead of Damages.
	Bits bool
	// Bad, if set, is told of every lie and every lost inner frame.
	Bad func(Finding)
}

// Finding is a backtrace that should not be.
type Finding struct {
	Case   *truth.Case
	Tier   string
	Index  int // of the capture
	Damage string
	What   string
	Frame  int
	Frames []unwind.Frame
	Answer *truth.Answer
}

// Count is what became of the captures that one kind of damage was done to.
type Count struct {
	N                    int
	Whole, Shorter       int
	Wrong, Lies          int // the first wrong frame; certain
	InnerLost            int // frames inner to the damage that are gone
	Certain, CertainGood int // certain frames before and after
}

// Run damages all captures of all cases. The key of the result is the damage.
func Run(ctx context.Context, opt Options) (map[string]*Count, error) {
	cases, err := truth.Cases(opt.Root, opt.Only)
	if err != nil {
		return nil, err
	}
	total := map[string]*Count{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var errs []error
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range cases {
		for _, tier := range opt.Tiers {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				r := runner{opt: &opt, c: &cases[i], tier: tier, counts: map[string]*Count{}}
				err := r.run(ctx)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					errs = append(errs, fmt.Errorf("%s %s: %w", cases[i].Name, tier, err))
				}
				r.report(total)
			})
		}
	}
	wg.Wait()
	return total, errors.Join(errs...)
}

// runner damages the captures of one case.
type runner struct {
	opt      *Options
	c        *truth.Case
	tier     string
	counts   map[string]*Count
	findings []Finding
}

func (r *runner) report(total map[string]*Count) {
	for name, c := range r.counts {
		t := total[name]
		if t == nil {
			t = new(Count)
			total[name] = t
		}
		t.N, t.Whole, t.Shorter, t.Wrong, t.Lies = t.N+c.N, t.Whole+c.Whole, t.Shorter+c.Shorter, t.Wrong+c.Wrong, t.Lies+c.Lies
		t.InnerLost, t.Certain, t.CertainGood = t.InnerLost+c.InnerLost, t.Certain+c.Certain, t.CertainGood+c.CertainGood
	}
	for _, f := range r.findings {
		if r.opt.Bad != nil {
			r.opt.Bad(f)
		}
	}
}

func (r *runner) run(ctx context.Context) error {
	images, cleanup, err := r.c.Images(r.tier)
	if err != nil {
		return err
	}
	defer cleanup()
	if len(images) == 0 {
		return nil
	}
	answers, err := r.c.Answers()
	if err != nil {
		return err
	}
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return err
	}
	files := backsight.NewFiles(input.FileOptions{Images: score.Named(images)})
	stream, err := backsight.Open(ctx, r.c.Snapshots(), input.Env{Files: files})
	if err != nil {
		return err
	}
	defer stream.Close()
	all := seen(answers)
	for i := range answers {
		snap, err := stream.Next(ctx)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if r.opt.Every > 1 && i%r.opt.Every != 0 {
			continue
		}
		if err := r.capture(ctx, u, &victim{snap: snap, answer: &answers[i], seen: all}, i); err != nil {
			return err
		}
	}
	return nil
}

// capture does every damage to one capture, if its backtrace is right undamaged.
func (r *runner) capture(ctx context.Context, u *backsight.Unwinder, v *victim, index int) error {
	good, err := frames(ctx, u, v.snap)
	if err != nil || right(v.answer, good) < len(v.answer.Frames) {
		return err
	}
	damages := Damages()
	if r.opt.Bits {
		damages = v.oneBit()
	}
	for k, d := range damages {
		v.rnd = rand.New(rand.NewPCG(r.opt.Seed+uint64(index), uint64(k)))
		bad, from := d.apply(v)
		if bad == nil {
			continue
		}
		got, err := frames(ctx, u, bad)
		if err != nil {
			return err
		}
		r.judge(&d, v.answer, good, got, v.inner(from), index)
	}
	return nil
}

func frames(ctx context.Context, u *backsight.Unwinder, snap *target.Snapshot) ([]unwind.Frame, error) {
	bts, err := u.Backtraces(ctx, snap)
	if err != nil || len(bts) == 0 {
		return nil, err
	}
	return bts[0].Frames, nil
}

// right is how many frames are right from the innermost one on.
func right(a *truth.Answer, fs []unwind.Frame) (n int) {
	for n < len(a.Frames) && n < len(fs) && same(a, n, &fs[n]) {
		n++
	}
	return n
}

func (r *runner) judge(d *Damage, a *truth.Answer, good, got []unwind.Frame, inner, index int) {
	c := r.counts[d.Name]
	if c == nil {
		c = new(Count)
		r.counts[d.Name] = c
	}
	c.N++
	c.Certain += certain(good[:len(a.Frames)])
	ok := right(a, got)
	c.CertainGood += certain(got[:ok])
	finding := Finding{Case: r.c, Tier: r.tier, Index: index, Damage: d.Name, Frame: ok, Frames: got, Answer: a}
	switch {
	case ok == len(a.Frames):
		c.Whole++
	case ok < len(got):
		c.Wrong++
	default:
		c.Shorter++
	}
	if lie := lie(a, got, ok); lie >= 0 {
		c.Lies++
		finding.What, finding.Frame = "wrong and certain", lie
		r.findings = append(r.findings, finding)
	}
	if ok < inner {
		c.InnerLost++
		finding.What = "inner frame lost"
		r.findings = append(r.findings, finding)
	}
}

// lie is the first frame from index n on that is certain and wrong, -1 if there is none.
// Nothing is known of frames further out than the truth.
func lie(a *truth.Answer, fs []unwind.Frame, n int) int {
	for ; n < len(a.Frames) && n < len(fs); n++ {
		if fs[n].Trust == unwind.Certain && !same(a, n, &fs[n]) {
			return n
		}
	}
	return -1
}

// same tells whether f is what the truth has as frame n.
func same(a *truth.Answer, n int, f *unwind.Frame) bool {
	mask := ^uint64(0)
	if a.ModeBit {
		mask = ^uint64(1)
	}
	return f.PC&mask == uint64(a.Frames[n].PC)&mask
}

func certain(fs []unwind.Frame) (n int) {
	for i := range fs {
		if fs[i].Trust == unwind.Certain {
			n++
		}
	}
	return n
}
