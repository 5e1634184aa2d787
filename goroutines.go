package backsight

import (
	"context"

	"github.com/backsight/backsight/internal/goroutines"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/target"
)

// Goroutines makes the goroutines of a snapshot's Go programs threads of it, stripped programs' too: target.Task.Goroutine says which is
// which. A thread of the system that runs a goroutine becomes that goroutine, one of the runtime that runs none is left out. The error
// is that of a file that cannot be read any more.
func Goroutines(ctx context.Context, snap *target.Snapshot) error {
	release, err := hold(snap)
	if err != nil {
		return err
	}
	defer release()
	return blame(snap, mapped.Guard(func() { goroutines.Add(ctx, snap) }))
}
