package perfdata

import "context"

// merged are the events of all files of a recording, in the order of their times: perf record --threads writes a file for each of its
// threads, beside the one that has the header.
type merged struct {
	files []*events
	heads []event // of each file the next, once any was asked for
	first bool    // was asked for
}

// next is the next event by time; of several files with one of that time, the first file's. ok is false behind the last.
func (m *merged) next(ctx context.Context) (ev event, ok bool) {
	if len(m.files) == 1 && !m.first {
		return m.files[0].next(ctx)
	}
	if !m.first {
		m.first = true
		for i := 0; i < len(m.files); i++ {
			m.heads = append(m.heads, event{})
			i -= m.advance(ctx, i)
		}
	}
	if len(m.files) == 0 {
		return ev, false
	}
	at := 0
	for i := range m.heads {
		if m.heads[i].time < m.heads[at].time {
			at = i
		}
	}
	ev = m.heads[at]
	m.advance(ctx, at)
	return ev, true
}

// advance reads the next event of a file; one that has none is left out, and counted.
func (m *merged) advance(ctx context.Context, i int) (gone int) {
	ev, ok := m.files[i].next(ctx)
	if ok {
		m.heads[i] = ev
		return 0
	}
	m.files[i].packed.close()
	m.files, m.heads = append(m.files[:i], m.files[i+1:]...), append(m.heads[:i], m.heads[i+1:]...)
	return 1
}

func (m *merged) close() {
	for _, e := range m.files {
		e.packed.close()
	}
}
