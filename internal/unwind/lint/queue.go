package lint

import (
	"cmp"
	"context"
	"sync"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/budget"
)

// bound limits the bytes of code that are gone through: entries of a table may overlap.
func bound(img *image.Image) budget.Budget {
	const floor, perByte = 1 << 24, 4
	return budget.New("bytes of code compared", floor, perByte*img.Segments.LoadedBytes())
}

// queue hands functions out.
type queue struct {
	ctx      context.Context
	mu       sync.Mutex
	all      []Function
	next     int
	progress func(done, all int)
	budget   budget.Budget
	failed   error
}

func (q *queue) take() []Function {
	const batch = 64
	q.mu.Lock()
	defer q.mu.Unlock()
	from := q.next
	for q.ctx.Err() == nil && q.next < min(from+batch, len(q.all)) && q.budget.Draw(int(q.all[q.next].Hi-q.all[q.next].Lo)) {
		q.next++
	}
	if q.progress != nil {
		q.progress(from, len(q.all))
	}
	return q.all[from:q.next]
}

// done adds what a worker has found.
func (q *queue) done(r *Report, w *worker, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r.merge(&w.counts)
	q.failed = cmp.Or(q.failed, err)
}
