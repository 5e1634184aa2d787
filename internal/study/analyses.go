package study

import (
	"cmp"
	"context"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/matching"
	"github.com/backsight/backsight/internal/code/stackdepth"
	"github.com/backsight/backsight/internal/code/stackuse"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/ehabi"
)

// StackUsage tells from the code of an image how deep its stacks can get: of each function, and along the deepest path from
// each place where a stack begins. annotations may be nil. progress, if not nil, is told how many functions are done. The error is that
// of ctx, or says that the image's file has changed.
func StackUsage(ctx context.Context, img *image.Image, annotations *stackdepth.Annotations, progress func(done int)) (r *stackdepth.Report, err error) {
	opt := stackdepth.Options{Annotations: annotations, Tables: tables(), Exceptions: landingPads, Progress: progress}
	if fault := Guarded(img, func() { r, err = stackdepth.Make(ctx, img, opt) }); fault != nil {
		return nil, fault
	}
	return r, err
}

// landingPads tells where exceptions enter the function at pc, by its tables.
func landingPads(img *image.Image, pc uint64) (p stackuse.Pads) {
	find := cfi.New().Exceptions
	if (ehabi.Source{}).Knows(img) {
		find = (ehabi.Source{}).Exceptions
	}
	var lsda uint64
	p.Lo, p.Hi, lsda, p.Known = find(img, pc)
	if p.Known && lsda != 0 {
		p.At, p.Known = cfi.LandingPads(img, p.Lo, lsda)
	}
	return p
}

// MatchBuilds finds the functions of an old build in a new one: by names where there are names, else by what their code refers
// to, by who calls them, and by their order. The error is that of ctx, or says that a file has changed.
func MatchBuilds(ctx context.Context, old, new *image.Image) (*matching.Match, error) {
	var builds [2]*matching.Build
	for i, img := range []*image.Image{old, new} {
		var err error
		if fault := Guarded(img, func() { builds[i], err = matching.Of(ctx, analyses.Of(img, tables())) }); fault != nil || err != nil {
			return nil, cmp.Or(fault, err)
		}
	}
	return matching.New(builds[0], builds[1]), nil
}
