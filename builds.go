package backsight

import (
	"cmp"
	"context"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/matching"
)

// BuildMatch is the functions of two builds of a program, and which of them are the same.
type BuildMatch = matching.Match

// MatchBuilds finds the functions of an old build in a new one: by names where there are names, else by what their code refers
// to, by who calls them, and by their order. The error is that of ctx, or says that a file has changed.
func MatchBuilds(ctx context.Context, old, new *image.Image) (*BuildMatch, error) {
	var builds [2]*matching.Build
	for i, img := range []*image.Image{old, new} {
		var err error
		if fault := guarded(img, func() { builds[i], err = matching.Of(ctx, analyses.Of(img, functionRanges)) }); fault != nil || err != nil {
			return nil, cmp.Or(fault, err)
		}
	}
	return matching.New(builds[0], builds[1]), nil
}
