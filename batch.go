package backsight

import (
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Walker returns a walker over snap that belongs to one goroutine: what a profiler
// uses for all its samples, moving it to the next with Walker.Use.
func (u *Unwinder) Walker(snap *target.Snapshot) *unwind.Walker {
	return unwind.NewWalker(snap, u.opt)
}
