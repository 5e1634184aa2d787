package unwind

import (
	"slices"

	"github.com/backsight/backsight/target"
)

// marksBehind are the frames that t lists behind those that were walked, which chains to the entry of the kernel must have.
// root: the entry is listed right behind the last of them. ok is false where one of them has no code, that of a module
// that is not at hand: nothing tells what it calls, nor how many bytes it keeps on the stack.
func marksBehind(graph CallGraph, snap *target.Snapshot, t *target.Thread, walked []Frame) (marks []target.Listed, root, ok bool) {
	_, next := matchListed(graph, t.Listed, walked)
	for _, l := range t.Listed[next:] {
		switch {
		case l.Around:
			return marks, false, true
		case l.Outermost:
			return marks, !l.Gap && !l.Doubtful, true
		case l.Doubtful || l.Searched || snap.IsHook(l.PC):
			continue
		}
		if m, known := snap.ModuleAt(l.PC); l.PC == 0 || !known || m.Image == nil {
			return nil, false, false
		}
		marks = append(marks, l)
	}
	return marks, false, true
}

// withChain are spliced frames with those of a chain to the entry of the kernel that lead from one to another and further out,
// if the chain has all of them behind own; what the capture lists is surer. The entry itself, root, may be the last of them.
func withChain(walked, spliced []Frame, entries []int, own int, root bool) (frames []Frame, of []int, ok bool) {
	frames, of = slices.Clone(spliced[:own]), slices.Clone(entries[:own])
	k := own
	for _, f := range walked[own:] {
		switch {
		case f.Checks&(OnlyCaller|SeveralFit) == 0:
			return spliced, entries, false
		case k < len(spliced) && spliced[k].PC == f.PC:
			frames, of = append(frames, spliced[k]), append(of, entries[k])
			k++
		default:
			frames, of = append(frames, f), append(of, -1)
		}
	}
	if root && k+1 == len(spliced) {
		return append(frames, spliced[k]), append(of, entries[k]), true
	}
	if k < len(spliced) || len(walked) == own {
		return spliced, entries, false
	}
	return frames, of, true
}
