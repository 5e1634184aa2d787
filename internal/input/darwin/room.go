package darwin

import (
	"fmt"

	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/target"
)

// Bounds of a report. A stackshot of all processes has some three thousand threads of twenty
// frames; a process with a thousand binaries is large.
const (
	maxThreads  = 1 << 14
	maxFrames   = 1 << 16 // and one for each
	perFrame    = 256     // bytes of the report: a frame takes twice as many until it is written
	maxBinaries = 1 << 14
)

// Room is how much more of a report is kept: a report of a few megabytes could list millions of
// threads.
type Room struct{ Threads, Frames, Binaries budget.Budget }

// NewRoom is the room of a report of size bytes.
func NewRoom(size int) Room {
	return Room{budget.New("threads", maxThreads, 0), budget.New("frames", maxFrames, uint64(size)/perFrame), budget.New("binaries", maxBinaries, 0)}
}

// Issues tell what there was no room for, and that a report has no thread: some are their headers
// alone.
func (r *Room) Issues(subject string) (issues []target.Issue) {
	if r.Threads.Left() == maxThreads {
		issues = append(issues, target.Issue{Kind: target.IssueCapture, Subject: subject, Text: subject + ": the report lists no thread"})
	}
	for _, b := range []*budget.Budget{&r.Threads, &r.Frames, &r.Binaries} {
		if err := b.Err(); err != nil {
			issues = append(issues, target.Issue{Kind: target.IssueCapture, Subject: subject,
				Text: fmt.Sprintf("%s: %v; the others are left out", subject, err)})
		}
	}
	return issues
}
