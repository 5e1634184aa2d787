package console

import (
	"context"

	"github.com/backsight/backsight/input"
)

// reports reads those of a text. Once ctx has ended there are fewer.
func reports(ctx context.Context, text []byte, env *input.Env, readers []Reader) input.Reports {
	log := newLog(ctx, text, signsOf(env, readers), nil)
	var extents []input.Extent
	var found []*Report
	_ = eachReport(ctx, log, env, readers, func(r *Report, next int) (more bool) { // its error is that of ctx
		extents = append(extents, input.Extent{From: log.offset(r.Line), To: log.offset(next), Ended: r.Ended})
		found = append(found, r)
		return len(found) < log.MaxReports()
	})
	return input.Reports{Extents: extents, Open: func(ctx context.Context, n int) (input.Stream, error) {
		var s stream
		for _, r := range found[:n] {
			s.add(r)
		}
		s.finish(ctx, readers)
		return &s, ctx.Err()
	}}
}
