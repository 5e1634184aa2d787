package perfdata

import (
	"cmp"
	"context"
	"slices"

	"github.com/backsight/backsight/target"
)

// flushAll hands out the samples of all processes.
func (s *stream) flushAll(ctx context.Context) {
	slices.SortStableFunc(s.pending, func(a, b *process) int { return cmp.Compare(a.pid, b.pid) })
	for _, p := range s.pending {
		s.flush(ctx, p)
		if p.listed = false; p.unknown() {
			delete(s.processes, p.pid)
		}
	}
	s.pending = s.pending[:0]
}

// flush hands out the samples that a process has.
func (s *stream) flush(ctx context.Context, p *process) {
	snap := p.pending
	if snap == nil {
		return
	}
	if s.rec.arch = snap.Arch; p.modules == nil {
		s.load(ctx, p)
	}
	if snap.Modules = p.modules; slices.ContainsFunc(snap.Threads, func(t target.Thread) bool { return len(t.Inner) > 0 }) {
		s.addKernel(snap)
	}
	s.name(p, snap)
	snap.Made = p.made.Names(ctx, s.env.Files, int(p.pid), true)
	for _, m := range snap.Modules { // which of several ABIs the program has
		if m.Image != nil && (snap.Arch == s.rec.unknown || m.Image.Arch.Name == snap.Arch.Name && m.Image.Arch.AddrSize == snap.Arch.AddrSize) {
			snap.Arch = m.Image.Arch
			break
		}
	}
	s.held -= p.captured
	p.last = len(snap.Threads)
	p.pending, p.captured = nil, 0
	s.ready = append(s.ready, p.made.Split(ctx, s.env.Files, snap, s.rec.attrs.monotonic(), &s.room.code)...)
}
