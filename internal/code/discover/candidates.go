package discover

import "github.com/backsight/backsight/internal/code/disasm"

// candidates are places where functions may begin.
type candidates struct {
	entries  keys
	taken    keys   // places that data or code holds a pointer to
	built    keys   // places whose address code builds
	farJumps []jump // over a certain entry, by target
}

// findCandidates makes the list of candidates by recursive descent from the certain
// entries and from what data points to.
func findCandidates(code disasm.Code, known *certain) *candidates {
	s := newSweep(code, &known.gp, known.entries)
	s.ends = disasm.NewSet(code)
	s.fromPointers(known.entries)
	taken := keys(s.pointers.Keys())
	entries := s.pointers
	for _, key := range known.single {
		entries.Add(code.Addr(key))
	}
	for key := range s.calls.Outside(entries) {
		entries.Add(code.Addr(key))
	}
	addTails(entries, &s.jumps, code, known.entries)
	s.landingPads()
	return &candidates{entries: entries.Keys(), taken: taken, built: s.built.Keys(), farJumps: s.farJumps()}
}
