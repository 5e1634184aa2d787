package code

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
)

// Notes implements stackwalk.Explainer: what the search for a rule tried, in words. Entries
// from which control does not come to the place can be many; they are only counted.
func (s *Source) Notes(q *stackwalk.Query) (lines []string) {
	if q.Arch.Decoder == nil {
		return nil
	}
	e := s.Explain(q)
	elsewhere := 0
	for i := range e.Forward {
		if f := &e.Forward[i]; f.Reached {
			lines = append(lines, f.note(q.Arch))
		} else {
			elsewhere++
		}
	}
	if elsewhere > 0 {
		lines = append(lines, fmt.Sprintf("%d other entries tried do not lead here", elsewhere))
	}
	for i := range e.Exits {
		lines = append(lines, e.Exits[i].note(q.Arch))
	}
	if e.HasABI {
		lines = append(lines, "by the ABI document's method: "+e.ABI.Format(q.Arch))
	}
	if e.Outermost {
		lines = append(lines, "the program starts here")
	}
	return lines
}

func (x *Exit) note(arch *cpu.Arch) string {
	s := "backward from a return"
	if x.Tail {
		s = "backward from a tail call"
	}
	switch {
	case x.Calls == 1:
		s += " behind a call"
	case x.Calls > 1:
		s += fmt.Sprintf(" behind %d calls", x.Calls)
	}
	if x.Confirmed {
		s += ", confirmed"
	}
	return s + ": " + x.Rule.Format(arch)
}

func (f *Forward) note(arch *cpu.Arch) string {
	s := fmt.Sprintf("forward from %#x (%s), code to %#x, %d blocks", f.Entry, f.Origin, f.End, f.Blocks)
	for _, w := range []struct {
		is   bool
		word string
	}{{f.Complete, "complete"}, {f.Balanced, "balanced"}, {f.Unbalanced, "unbalanced"}} {
		if w.is {
			s += ", " + w.word
		}
	}
	if f.HasRule {
		s += ": " + f.Rule.Format(arch)
	}
	return s
}
