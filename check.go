package backsight

import (
	"context"
	"errors"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/unwind/lint"
	"github.com/backsight/backsight/target"
)

// TableReport says where the unwind tables of an image contradict its code, and how much was compared.
type TableReport = lint.Report

// TableFinding is a stretch of code for which a table is wrong. Its addresses are image addresses.
type TableFinding = lint.Finding

// CheckTables compares the tables that an image has itself (.eh_frame or .debug_frame, else
// .ARM.exidx; compact unwind) with its code at every instruction. progress, if not nil, is told how
// many functions are done, from several goroutines. The error says that there is no table, is that of
// ctx, or says that the image's file has changed.
func CheckTables(ctx context.Context, img *image.Image, progress func(done, all int)) (*TableReport, error) {
	r, err := lint.Check(ctx, img, progress)
	if err != nil {
		return nil, blame(&target.Snapshot{Modules: []*target.Module{{Image: img}}}, err)
	}
	if r == nil {
		return nil, errors.New("no unwind table to check")
	}
	return r, nil
}
