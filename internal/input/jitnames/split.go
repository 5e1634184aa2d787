package jitnames

import (
	"context"
	"slices"
	"sort"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/target"
)

// splitter gives a snapshot's threads the functions that they may be in.
type splitter struct {
	disk  mapped.Disk
	room  *budget.Budget
	logs  map[*log]mapped.File // open; nil: cannot be read
	snap  *target.Snapshot
	seen  []*function // by the threads from first on, sorted, none overlaps another
	first int
}

// perFunction is what a function counts that is kept, in bytes: a recording may have many processes, and their logs many functions.
const perFunction = 64

// Split returns a profile's snapshot with modules of the functions that its threads may be in, as far as a log of the process has their code and
// no file is mapped there; where threads had different functions at one place, as several snapshots. clock: the times of threads are of
// CLOCK_MONOTONIC, as those of logs are. room holds the bytes that are read. Without a log snap is returned as it is.
func (s *Source) Split(ctx context.Context, files *input.Files, snap *target.Snapshot, clock bool, room *budget.Budget) (out []*target.Snapshot) {
	if len(s.dumps) == 0 || room.Left() < perFunction {
		return []*target.Snapshot{snap}
	}
	code := s.made(ctx, files, snap.PID)
	if code == nil {
		return []*target.Snapshot{snap}
	}
	if more := len(code.list) - s.drawn; more > 0 && room.Draw(perFunction*more) {
		s.drawn += more
	}
	if s.drawn == 0 {
		return []*target.Snapshot{snap}
	}
	w := splitter{disk: files.Disk(), room: room, logs: map[*log]mapped.File{}, snap: snap}
	defer w.close()
	var touched []*function
	for i := range snap.Threads {
		time := uint64(0)
		if clock {
			time = snap.Threads[i].Moment.Time
		}
		if touched = code.touched(touched[:0], snap, &snap.Threads[i], time); !w.add(touched) {
			out = append(out, w.before(i))
			w.add(touched)
		}
	}
	return append(out, w.before(len(snap.Threads)))
}

// made finds the functions of process pid whose code a log has; nil where the files have no functions.
func (s *Source) made(ctx context.Context, files *input.Files, pid int) *code {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.load(ctx, files, pid); s.code == nil && s.names != nil {
		s.code = newCode(s.names.list)
	}
	return s.code
}

// add adds functions to those that were seen, unless one overlaps another of these.
func (w *splitter) add(touched []*function) bool {
	at := func(f *function) int {
		return sort.Search(len(w.seen), func(i int) bool { return w.seen[i].addr+w.seen[i].size > f.addr })
	}
	for _, f := range touched {
		if i := at(f); i < len(w.seen) && w.seen[i] != f && w.seen[i].addr < f.addr+f.size {
			return false
		}
	}
	for _, f := range touched {
		if i := at(f); i == len(w.seen) || w.seen[i] != f {
			w.seen = slices.Insert(w.seen, i, f)
		}
	}
	return true
}

// before is the snapshot of the threads up to before one; those that follow begin with no function.
func (w *splitter) before(end int) *target.Snapshot {
	part := *w.snap
	part.Threads = w.snap.Threads[w.first:end:end]
	var made []*target.Module
	for _, f := range w.seen {
		if w.outside(f) {
			if m := w.module(f); m != nil {
				made = append(made, m)
			}
		}
	}
	part.Modules = append(around(w.snap.Modules, made), made...)
	part.SortModules()
	w.seen, w.first = w.seen[:0], end
	return &part
}

// outside tells whether no file is mapped where a function lies.
func (w *splitter) outside(f *function) bool {
	first, _ := w.snap.ModuleAt(f.addr)
	last, _ := w.snap.ModuleAt(f.addr + f.size - 1)
	return (first == nil || first.Anonymous()) && (last == nil || last.Anonymous())
}

// around are modules beside made ones. Of memory of no file in which some of these lie what is between them is left.
func around(modules, made []*target.Module) []*target.Module {
	out := make([]*target.Module, 0, len(modules)+2*len(made))
	for _, m := range modules {
		i := sort.Search(len(made), func(i int) bool { return made[i].Hi > m.Lo })
		if !m.Anonymous() || i == len(made) || made[i].Lo >= m.Hi {
			out = append(out, m)
			continue
		}
		rest := *m
		for ; i < len(made) && made[i].Lo < m.Hi; i++ {
			if left := rest; left.Lo < made[i].Lo {
				left.Hi = made[i].Lo
				out = append(out, &left)
			}
			rest.Lo = min(made[i].Hi, m.Hi)
		}
		if rest.Lo < rest.Hi {
			out = append(out, &rest)
		}
	}
	return out
}

// module is the module of a function, made the first time; nil where its code cannot be read, or there is no room for it.
func (w *splitter) module(f *function) *target.Module {
	if !f.tried {
		f.tried = true
		code, frames, lines := w.bytes(f, f.code), w.bytes(f, f.frames), w.bytes(f, f.lines)
		if uint64(len(code)) == f.size {
			f.now = f.module(w.snap.Arch, code, frames, lines)
		}
	}
	return f.now
}

// bytes are those of a part of a function's log, nil where they cannot be read.
func (w *splitter) bytes(f *function, p part) []byte {
	file, known := w.logs[f.log]
	if !known {
		file = opened(w.disk, f.log.path)
		w.logs[f.log] = file
	}
	if file == nil || p.size == 0 || !w.room.Draw(int(p.size)) {
		return nil
	}
	data := make([]byte, p.size)
	n, _ := file.ReadAt(data, int64(p.off)) // what could be read counts
	return data[:n]
}

func (w *splitter) close() {
	for _, f := range w.logs {
		if f != nil {
			_ = f.Close() // nothing was written
		}
	}
}
