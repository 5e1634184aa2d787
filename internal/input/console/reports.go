package console

import (
	"context"

	"github.com/backsight/backsight/input"
)

// reports reads those of a text. Once ctx has ended there are fewer.
func reports(ctx context.Context, text []byte, env *input.Env, readers []Reader) input.Reports {
	log := newLog(ctx, text, signsOf(env, readers), part{most: maxReports(len(text))})
	var extents []input.Extent
	var found []*Report
	_, _ = eachReport(ctx, log, env, readers, family{}, func(r *Report, next int) (more bool) { // its error is that of ctx
		extents = append(extents, input.Extent{From: log.offset(r.Line), To: log.offset(next), Ended: r.Ended})
		found = append(found, r)
		return len(found) < log.MaxReports()
	})
	return input.Reports{Extents: extents, Open: func(ctx context.Context, n int) (input.Stream, error) {
		s := stream{portions: &portions{done: true}}
		for _, r := range found[:n] {
			s.add(r)
		}
		s.finish(ctx)
		return &s, ctx.Err()
	}}
}
