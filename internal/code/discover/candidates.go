package discover

import (
	"sync"

	"github.com/backsight/backsight/internal/code/disasm"
)

// candidates are places where functions may begin.
type candidates struct {
	entries  keys
	whole    *disasm.Set // the entries of a large image, which few want as a list; else nil
	taken    keys        // places that data or code holds a pointer to
	built    keys        // places whose address code builds
	farJumps []jump      // over a certain entry, by target
}

// findCandidates makes the list of candidates by recursive descent from the certain
// entries and from what data points to.
func findCandidates(code disasm.Code, known *certain) *candidates {
	entries, single := known.whole()
	s := newSweep(code, &known.gp, entries, everywhere)
	s.ends = disasm.NewSet(code)
	s.fromPointers(entries)
	return foundBy(s, single)
}

// foundBy are the candidates that a sweep from the certain entries found, and single, what calls name
// that may come of a misread byte. Of hostile code they are as many as what they were found with.
func foundBy(s *sweep, single keys) *candidates {
	s.todo = worklist{}
	found := &candidates{taken: s.pointers.Keys(), built: s.built.Keys()}
	entries := s.pointers
	for _, key := range single {
		entries.Add(s.Addr(key))
	}
	for key := range s.calls.Outside(entries) {
		entries.Add(s.Addr(key))
	}
	addTails(entries, &s.jumps, s.Code, s.bounds)
	if s.ends != nil {
		s.landingPads()
		found.farJumps = s.farJumps()
	}
	s.jumps, s.bounds, s.seen = jumps{}, nil, nil
	if s.ends != nil && isLarge(s.Code) {
		found.whole = entries
	} else {
		found.entries = entries.Keys()
	}
	return found
}

// list are the entries.
func (c *candidates) list() keys {
	if c.whole != nil {
		return c.whole.Keys()
	}
	return c.entries
}

const (
	// regionPages is how many pages have their candidates found together in a large image: 256 KB. With 1 MB
	// the search costs twice as much, 8 of 4,113 places in Chromium are told their entry besides, and none another rule.
	regionPages = 64
	// overlap is how many pages on both sides of a region are looked at as well: 64 KB.
	overlap = 16
	// wholeSize is how many bytes of code an image may have whose candidates are found all together.
	wholeSize = 4 << 20
)

// regions are the candidates in parts of a large image. Code that builds the address of a function,
// or ends in a jump to one that nothing calls, was compiled and linked together with that function:
// a sweep through the code around finds most of it. One through Chromium, of 236 MB, takes more
// than a second, and would be broken off on the way.
type regions struct {
	code    disasm.Code
	certain *certain
	pointed func() *pointed
	pages   pages
	parts   []func() *candidates
}

// isLarge tells whether an image is worth being looked at in parts. Of code of two instruction sets
// only a sweep through all tells what is what.
func isLarge(code disasm.Code) bool { return !twoSets(code) && textSize(code) > wholeSize }

// newRegions returns the regions of an image; nil where the image is not large.
func newRegions(code disasm.Code, known *certain, data func() *pointed) *regions {
	r := &regions{code: code, certain: known, pointed: data, pages: pagesOf(code)}
	if !isLarge(code) {
		return nil
	}
	for i := 0; i < r.pages.n; i += regionPages {
		r.parts = append(r.parts, sync.OnceValue(func() *candidates { return r.find(i) }))
	}
	return r
}

// at are the candidates around a place.
func (r *regions) at(at disasm.Addr) *candidates {
	i, _ := r.pages.index(at.PC)
	return r.parts[min(i/regionPages, len(r.parts)-1)]()
}

// find finds those of the region from a page on.
func (r *regions) find(page int) *candidates {
	first, last := max(0, page-overlap), min(page+regionPages+overlap, r.pages.n)
	in := span{r.pages.start(first), r.pages.start(last-1) + pageSize}
	entries, single := r.certain.between(in)
	s := newSweep(r.code, &r.certain.gp, entries, in)
	named := r.pointed().between(in)
	for _, key := range named {
		s.pointers.Add(r.code.Addr(key))
	}
	s.from(named)
	s.from(entries)
	return foundBy(s, single)
}
