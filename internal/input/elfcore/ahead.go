package elfcore

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/mapped"
)

// ahead is the opening of binaries on a second processor.
type ahead struct {
	reached atomic.Int64 // the mapping that is worked on
	done    sync.WaitGroup
}

// leastAhead is how many binaries are worth a second processor.
const leastAhead = 16

// openAhead opens the binaries that were mapped, from the last on, until one is reached that is worked on. Files keep them open for who asks
// for them, who also says what is wrong with one. A core of 1,000 libraries spent a third of its time here.
func (f *finder) openAhead(files []mapping) *ahead {
	a := new(ahead)
	if len(files) < leastAhead || len(files) > maxBinaries {
		return a
	}
	refs := make([]input.BinaryRef, len(files))
	for i := range files {
		if slices.ContainsFunc(files[i].parts, f.space.executable) {
			refs[i] = f.binaries.wanted(files[i].path, nil)
			refs[i].Absolute = true
		}
	}
	a.done.Go(func() {
		for i := len(refs) - 1; int64(i) > a.reached.Load(); i-- {
			if refs[i].Name != "" {
				_ = mapped.Guard(func() { f.binaries.files.Find(refs[i]) })
			}
		}
	})
	return a
}

// end ends it.
func (a *ahead) end() {
	a.reached.Store(math.MaxInt64)
	a.done.Wait()
}
