package console

import (
	"maps"
	"sync"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/stack"
)

// scan has those readers scan a log that want to, side by side. Where the file cannot be read any more, the reader finds that out
// when it is asked to read a report.
func scan(log *Log, env *input.Env, readers []Reader) {
	var all sync.WaitGroup
	views := make([]Log, len(readers))
	for i := range readers {
		if readers[i].Scan == nil {
			continue
		}
		view := &views[i]
		*view = *log // each is at a line of its own
		view.memo = nil
		if log.whom != 0 {
			view.whom = bitOf(readers, i)
		}
		all.Go(func() {
			stack.Reserve()
			if mapped.Guard(func() { readers[i].Scan(view, env) }) != nil {
				view.memo = nil
			}
		})
	}
	all.Wait()
	for i := range views {
		if log.memo == nil {
			log.memo = map[any]any{}
		}
		maps.Copy(log.memo, views[i].memo)
	}
}
