package snapshot

import (
	"fmt"

	"github.com/backsight/backsight/internal/budget"
)

// limits are how many of each thing a snapshot may have. Three bytes of text ({},) make
// a thread of five hundred, eleven a run of memory of two hundred, thirteen a binary
// that is searched for on disk.
type limits struct{ threads, regs, chunks, images budget.Budget }

// limitsOf are the limits for a text of size bytes. Programs have some thousand threads
// and some hundred binaries; a thread has some four hundred bytes of registers, and a
// run of memory is a stack or a page, or at least a few words.
func limitsOf(size int) limits {
	n := uint64(size)
	return limits{
		threads: budget.New("threads", 1<<14, n/512),
		regs:    budget.New("registers", 1<<18, n/16),
		chunks:  budget.New("runs of memory", 1<<15, n/256),
		images:  budget.New("images", 1<<12, n/1024),
	}
}

// leftOut says which things were more than there may be.
func (l *limits) leftOut() (issues []string) {
	for _, b := range []*budget.Budget{&l.threads, &l.regs, &l.chunks, &l.images} {
		if err := b.Err(); err != nil {
			issues = append(issues, fmt.Sprintf("a snapshot of %v; the others are left out", err))
		}
	}
	return issues
}
