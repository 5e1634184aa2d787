package unwind

import "github.com/backsight/backsight/target"

// MatchListed finds the walked frames in the list of a capture, in order: entries[i] is the index of frame i, −1 where the
// list lacks the frame. next is behind the last entry that was found.
func MatchListed(graph CallGraph, listed []target.Listed, frames []Frame) (entries []int, next int) {
	entries = make([]int, len(frames))
	for i := range frames {
		entries[i] = -1
		for k := next; k < len(listed); k++ {
			if isListed(graph, &listed[k], &frames[i]) {
				entries[i], next = k, k+1
				break
			}
		}
	}
	return entries, next
}

// isListed tells whether an entry is a frame: of the same address, or of the function that the entry names alone.
func isListed(graph CallGraph, l *target.Listed, f *Frame) bool {
	if l.PC != 0 || l.Entry == 0 {
		return l.PC != 0 && l.PC == f.PC
	}
	return graph != nil && f.CodeKnown() && f.Module.Contains(l.Entry) && graph.OneFunction(f.Module, l.Entry, f.CallSite, f.Mode) == Yes
}

// passed are the frames that t lists behind those that were walked, which chains to the entry of the kernel pass.
// root: the entry is listed right behind the last of them. ok is false where one of them has no code, that of a module
// that is not at hand: nothing tells what it calls, nor how many bytes it keeps on the stack.
func passed(graph CallGraph, snap *target.Snapshot, t *target.Thread, walked []Frame) (on []target.Listed, root, ok bool) {
	_, next := MatchListed(graph, t.Listed, walked)
	for _, l := range t.Listed[next:] {
		switch {
		case l.Around:
			return on, false, true
		case l.Outermost:
			return on, !l.Gap && !l.Doubtful, true
		case l.Doubtful || l.Searched || snap.IsHook(l.PC):
			continue
		}
		if m, known := snap.ModuleAt(l.PC); l.PC == 0 || !known || m.Image == nil {
			return nil, false, false
		}
		on = append(on, l)
	}
	return on, false, true
}
