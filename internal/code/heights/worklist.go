package heights

import "sort"

// worklist are the places that are still to be visited, by address, the lowest last. So
// a function is gone through by address, and most places where paths meet are visited
// when all of the paths have come there.
type worklist []waypoint

// waypoint is a place, relative to the entry, and the number of the state there.
type waypoint struct{ at, state uint32 }

// find is the index of a place, or where the place would be inserted.
func (w worklist) find(at uint32) (int, bool) {
	if n := len(w); n == 0 || w[n-1].at > at {
		return n, false
	}
	i := sort.Search(len(w), func(i int) bool { return w[i].at <= at })
	return i, i < len(w) && w[i].at == at
}

// next is the first place from an offset on that is in the list, else limit.
func (w worklist) next(at, limit uint32) uint32 {
	i, found := w.find(at)
	if found {
		return at
	}
	if i > 0 {
		return min(limit, w[i-1].at)
	}
	return limit
}

// pop takes the lowest place.
func (w *worklist) pop() waypoint {
	last := len(*w) - 1
	p := (*w)[last]
	*w = (*w)[:last]
	return p
}
