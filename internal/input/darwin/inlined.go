package darwin

import "github.com/backsight/backsight/target"

// Frames are the lines of a thread in a symbolicated report, joined to frames. A function that
// was inlined has a line of its own before that of the frame, with the same address:
//
//	2   App   0x0000000102231010 next() (list.h:20) [inlined]
//	3   App   0x0000000102231010 walk + 16 (walk.c:7)
type Frames struct {
	List    []target.Listed
	waiting []target.Listed // lines of inlined functions whose frame is yet to come
}

// Add adds a line.
func (f *Frames) Add(l target.Listed, inlined bool) {
	if len(f.waiting) > 0 && f.waiting[0].PC != l.PC {
		f.End()
	}
	if inlined {
		f.waiting = append(f.waiting, l)
		return
	}
	for _, in := range f.waiting {
		l.Inlined = append(l.Inlined, target.Place{Function: in.Symbol, File: in.File, Line: in.Line})
	}
	f.List, f.waiting = append(f.List, l), nil
}

// End makes frames of lines whose frame did not come.
func (f *Frames) End() { f.List, f.waiting = append(f.List, f.waiting...), nil }
