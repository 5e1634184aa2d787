package unwind

import (
	"math"
	"slices"

	"github.com/backsight/backsight/internal/packed"
)

// learn stores how the caller of s was found, and publishes it for other walkers: nothing
// but code decided. What the stack decided, advance checks again for every frame.
func (f *fastPath) learn(s *State, known cachedRule, c *candidate) {
	at := placeOf(s.PC, s.Mode, s.Exact)
	if f.admission.admits(s.PC) {
		f.local.store(at, known)
	}
	f.publish(s, at, known, c)
}

// cacheable tells whether code alone decided about the best candidate: the first answer
// of all came from a rule source and was the last. known is what to store.
func cacheable(s *State, r *search) (known cachedRule, ok bool) {
	c := &r.best
	if r.answers != 1 || !r.lastRule || r.starved || !c.convinces() || c.end && c.trust != Certain ||
		s.Module == nil || s.Module.Image == nil || !s.Module.Image.Segments.Executable(s.Module.ToImage(s.PC-1)&s.Module.Image.Arch.AddrMask()) {
		return known, false
	}
	if c.end {
		return cachedRule{rule: packed.End()}, true
	}
	const stack = SPMonotonic | SPInStack
	if !c.checks.Has(stack|CallBefore) || c.checks&(AtTrampoline|ReturnHooked|OnlyCaller) != 0 || c.flags&Inferred != 0 ||
		c.Exact || c.module == nil || c.module.Image == nil {
		return known, false
	}
	module := slices.Index(s.Snapshot.Modules, c.module)
	if !r.packed || module > math.MaxUint16 || c.pc-c.site > mostCallLen {
		return known, false
	}
	known = cachedRule{r.first, caller{ra: c.raw, checks: c.checks, module: uint16(module),
		call: callOf(uint8(c.pc-c.site), r.cost), how: howOf(c.mode, c.trust, c.method)}}
	pc, mode := s.Snapshot.Arch.SplitCode(c.raw)
	return known, pc == c.pc && mode == c.mode && pc-known.caller.length() == c.site
}

// publish leaves a rule, and the caller that it leads to, with the image.
func (f *fastPath) publish(s *State, at place, r cachedRule, c *candidate) {
	of := f.modules.of(s.Snapshot, s.Module)
	if of.cache == nil {
		return
	}
	if !r.rule.Ends() {
		in := f.modules.of(s.Snapshot, c.module)
		if in.cache == nil || !c.imageOnly {
			return
		}
		r.caller.ra, r.caller.module = in.module.ToImage(r.caller.ra)&s.Snapshot.Arch.AddrMask(), in.cache.id
	}
	of.cache.publish(imagePlace(of.module, at), r)
}
