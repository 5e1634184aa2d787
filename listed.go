package backsight

import (
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// splice completes the backtrace by what the capture lists.
func (u *Unwinder) splice(w *unwind.Walker, snap *target.Snapshot, b *Backtrace) {
	if len(b.Thread.Listed) == 0 {
		return
	}
	var entries []int
	b.Frames, entries, b.Stop = w.Splice(b.Thread, b.Frames, b.Stop)
	if u.sizes {
		b.Sizes = unwind.FrameSizes(snap, u.opt.Sources, b.Frames)
	}
	b.Listed = make([]*target.Listed, len(entries))
	for i, k := range entries {
		if k >= 0 {
			b.Listed[i] = &b.Thread.Listed[k]
		}
	}
}

// listedName is the name that the capture gives a frame, where it lists the frame.
func (b *Backtrace) listedName(i int) (l symbol.Location) {
	if i >= len(b.Listed) || b.Listed[i] == nil || b.Listed[i].Symbol == "" {
		return l
	}
	f, entry := &b.Frames[i], b.Listed[i]
	l.Function, l.Entry, l.File, l.Line = entry.Symbol, f.PC-entry.Offset, entry.File, entry.Line
	for _, in := range entry.Inlined {
		l.Inlines = append(l.Inlines, symbol.Inline{Function: in.Function, File: in.File, Line: in.Line})
	}
	if f.Module != nil {
		l.Entry = f.Module.ToImage(l.Entry)
	}
	return l
}
