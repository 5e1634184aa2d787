package tasks

import "iter"

// span is from where to where, and in which steps, a field may lie behind comm.
type span struct{ from, to, step distance }

// whole is the span of all words of task_struct.
func (r reader) whole() span { return span{-before, behind, distance(r.word)} }

// distances are those at which a field of task_struct may lie: first where the kernel's types say,
// by the first of the paths that they have, then all of a span, until the search ends.
func (r reader) distances(s span, paths ...[]string) iter.Seq[distance] {
	return func(yield func(distance) bool) {
		if d, ok := r.stated(paths); ok && !yield(d) {
			return
		}
		for d := s.from; d != s.to && (d < s.to) == (s.step > 0) && r.ctx.Err() == nil && yield(d); d += s.step {
		}
	}
}

// stated is where the kernel's types say that a field lies.
func (r reader) stated(paths [][]string) (d distance, ok bool) {
	if r.Fields == nil {
		return 0, false
	}
	comm, ok := r.Fields("comm")
	for _, path := range paths {
		if off, found := r.Fields(path...); ok && found {
			return distance(off) - distance(comm), true
		}
	}
	return 0, false
}
