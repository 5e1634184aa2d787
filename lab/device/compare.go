package device

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/tables/device"
	"github.com/backsight/backsight/lab/score"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
)

// Outcome is what came of the captures of one program.
type Outcome struct {
	Case                string
	Arch                string
	Code, Table         int // bytes
	Chains, Whole, Both int // whole by the reader; by both ways
	Wrong               int // by the reader
	Walker              int // whole by Backsight itself
	Unlike              []Unlike
}

// Unlike is a capture of which the reader made another chain than the truth, and Backsight did
// not.
type Unlike struct {
	Line   int
	Got    []uint64
	Stop   int
	Answer *truth.Answer
}

// Run compares the reader with Backsight on a case's captures of its naked program. src is the
// folder of the reader, dir is for what is built.
func Run(ctx context.Context, src, dir string, c *truth.Case) (o Outcome, err error) {
	images, cleanup, err := c.Images("naked")
	if err != nil {
		return o, err
	}
	defer cleanup()
	if len(images) != 1 {
		return o, nil
	}
	files := backsight.NewFiles(input.FileOptions{Images: score.Named(images)})
	img, err := files.Open(images[0].Path)
	if err != nil {
		return o, err
	}
	r, err := o.reader(ctx, src, dir, img)
	if err != nil {
		return o, err
	}
	defer func() { err = cmp.Or(err, r.Close()) }()
	o.Case, o.Arch = c.Name, c.Arch
	answers, err := c.Answers()
	if err != nil {
		return o, err
	}
	stream, err := backsight.Open(ctx, c.Snapshots(), input.Env{Files: files})
	if err != nil {
		return o, err
	}
	defer stream.Close()
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return o, err
	}
	for i := range answers {
		snap, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return o, err
		}
		if err := o.capture(ctx, u, r, snap, &answers[i], i+1); err != nil {
			return o, err
		}
	}
	return o, nil
}

// reader makes the table and starts the reader.
func (o *Outcome) reader(ctx context.Context, src, dir string, img *image.Image) (*Reader, error) {
	rules, err := backsight.ListRules(ctx, img)
	if err != nil {
		return nil, err
	}
	b, _, err := device.Encode(rules)
	if err != nil {
		return nil, err
	}
	o.Table = len(b)
	if text, ok := img.Sections.Named(".text"); ok {
		o.Code = len(text.Data)
	}
	table, program := filepath.Join(dir, "table"), filepath.Join(dir, "reader")
	if err := os.WriteFile(table, b, 0o644); err != nil {
		return nil, err
	}
	if err := Build(ctx, src, program, img.Arch); err != nil {
		return nil, err
	}
	return Start(ctx, program, table, img)
}

// capture compares one capture.
func (o *Outcome) capture(ctx context.Context, u *backsight.Unwinder, r *Reader, snap *target.Snapshot, a *truth.Answer, line int) error {
	pcs, stop, err := r.Walk(snap, &snap.Threads[0])
	if err != nil {
		return err
	}
	var got []score.Got
	for _, pc := range pcs {
		got = append(got, score.Got{PC: pc})
	}
	bts, err := u.Backtraces(ctx, snap)
	if err != nil {
		return err
	}
	var ours []score.Got
	for _, f := range bts[0].Frames {
		ours = append(ours, score.Got{PC: f.PC})
	}
	a.ModeBit = snap.Arch.ISABit
	v, w := score.Judge(a, got), score.Judge(a, ours)
	o.Chains++
	for _, n := range []struct {
		count *int
		is    bool
	}{{&o.Whole, v.Whole}, {&o.Walker, w.Whole}, {&o.Both, v.Whole && w.Whole}, {&o.Wrong, v.Wrong}} {
		if n.is {
			*n.count++
		}
	}
	if !v.Whole && w.Whole {
		o.Unlike = append(o.Unlike, Unlike{line, pcs, stop, a})
	}
	return nil
}
