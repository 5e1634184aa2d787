package console

import (
	"context"

	"github.com/backsight/backsight/input"
)

// extents are where the reports of a text lie. Once ctx has ended there are fewer.
func extents(ctx context.Context, text []byte, env *input.Env, readers []Reader) (out []input.Extent) {
	log := NewLog(ctx, text)
	left := log.MaxReports()
	_ = eachReport(ctx, log, env, readers, func(r *Report, next int) (more bool) { // its error is that of ctx
		out = append(out, input.Extent{From: log.offset(r.Line), To: log.offset(next), Ended: r.Ended})
		left--
		return left > 0
	})
	return out
}
