package backsight

import (
	"context"
	"iter"
	"strings"

	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// calledInstead is a frame that the call of the next frame out did not go to, and where that call went.
type calledInstead struct {
	frame *report.Frame
	place
}

// addTailCallers names the functions that left the stack by a tail call.
func (n *namer) addTailCallers(ctx context.Context, r *report.Report) {
	var found []calledInstead
	for i := range r.Threads {
		frames := r.Threads[i].Frames
		for k := 1; k < len(frames) && r.Threads[i].Thread != nil; k++ { // not those of a profile's samples
			if to, ok := n.called(&frames[k-1], &frames[k]); ok {
				found = append(found, calledInstead{&frames[k-1], to})
			}
		}
	}
	if len(found) == 0 || n.names == nil || ctx.Err() != nil {
		return
	}
	r.Issues = append(r.Issues, prepare(ctx, n.names, placesOf(found))...)
	for _, c := range found {
		own, _, _ := strings.Cut(c.frame.Function, ".cold")
		own = strings.TrimSuffix(own, " [clone ") // demangled
		if l := n.at(c.place); l.Function != "" && l.Entry == c.addr && l.Function != own {
			c.frame.Detailed().TailCaller = l
		}
	}
}

// placesOf are the places that a Symbolizer is asked for.
func placesOf(found []calledInstead) iter.Seq2[*target.Module, uint64] {
	return func(yield func(*target.Module, uint64) bool) {
		for i := range found {
			if !yield(found[i].module, found[i].addr) {
				return
			}
		}
	}
}

// called is where caller's call goes, where that is not the beginning of f's function: what is called there went on to f's by
// a jump, as the frame's checks say. That is no tail call where f is in a part of the same function, which the compiler
// moved away (GCC's f.cold).
//
//	caller:  call outer        outer:  …
//	         ◄─ return address         jmp inner     ◄─ inner runs, and returns to caller
func (n *namer) called(f, caller *report.Frame) (to place, ok bool) {
	m := caller.Module
	if m == nil || m.Image == nil || m != f.Module || f.Function == "" || !caller.Checks.Has(unwind.CallBefore|unwind.TargetMatches) {
		return to, false
	}
	site, kind := callsite.BeforeIn(n.snap, m, caller.PC, caller.Mode)
	if kind != callsite.Call || !site.Direct || !m.Contains(site.Target) {
		return to, false
	}
	to = place{m, m.ToImage(site.Target) & m.Image.Arch.AddrMask()}
	return to, to.addr != f.Entry
}
