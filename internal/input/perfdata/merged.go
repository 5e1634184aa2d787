package perfdata

import "context"

// merged are the events of all files of a recording, in the order of their times: perf record --threads writes a file for each of its
// threads, beside the one that has the header.
type merged []*events

// next is the next event by time; of several files with one of that time, the first file's. ok is false behind the last.
func (m merged) next(ctx context.Context) (ev event, ok bool) {
	var from *events
	for _, e := range m {
		if e.gather(ctx) && (from == nil || e.waiting[0].time < from.waiting[0].time) {
			from = e
		}
	}
	if from == nil {
		return ev, false
	}
	return from.first(), true
}

func (m merged) close() {
	for _, e := range m {
		e.packed.close()
	}
}
