//go:build !small

package study

import (
	"context"
	"errors"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/unwind/lint"
	"github.com/backsight/backsight/target"
)

// CheckTables compares the tables that an image has itself (.eh_frame or .debug_frame, else
// .ARM.exidx; compact unwind) with its code at every instruction. progress, if not nil, is told how
// many functions are done, from several goroutines. The error says that there is no table, is that of
// ctx, or says that the image's file has changed.
func CheckTables(ctx context.Context, img *image.Image, progress func(done, all int)) (r *lint.Report, err error) {
	if fault := Guarded(img, func() { r, err = lint.Check(ctx, img, progress) }); fault != nil {
		return nil, fault
	}
	if err != nil {
		return nil, Blame(&target.Snapshot{Modules: []*target.Module{{Image: img}}}, err)
	}
	if r == nil {
		return nil, errors.New("no unwind table to check")
	}
	return r, nil
}
