package stackwalk

import (
	"math"

	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// fastPath walks through frames whose rules and callers are known: cached by this walker,
// or left with the images by other walkers.
type fastPath struct {
	local     ruleCache
	admission admission
	modules   moduleCaches
	trail     ruleTrail
	finder    *finder     // counts the cost of the walk
	found     cachedRule  // an imageCache's answer in target addresses
	end       unwind.Stop // why a walk ends where advance came to its end
	ended     bool
}

// forget drops what is known of the modules: they are others now.
func (f *fastPath) forget() {
	f.local, f.modules.last = ruleCache{most: f.local.most}, [2]moduleCache{}
}

// advance walks on from s, the last frame of dst, as far as the caches know the way, up to
// most frames in dst. It reads nothing but the caches, the stack and the registers that
// rules name. ended: the walk ends there, and f.end says why; if not, s is the last frame of dst again, and
// sources go on.
//
// The checks that code alone decides come with the cached caller. What the stack
// decides is checked here: that the return address is the cached caller's, and that SP
// rises, is aligned and stays in the stack. Frames and registers are those that
// evaluate.Rule and the verifier find; TestFastPath compares them.
//
// Registers other than SP are left where they were saved until a rule needs one:
// most frames are found from SP alone. The loop is one function because a frame takes 13 ns:
// with functions for the CFA and the return address, it takes a tenth more.
func (f *fastPath) advance(s *State, dst []unwind.Frame, most int) (out []unwind.Frame, ended bool) {
	snap, arch := s.Snapshot, s.Snapshot.Arch
	at, sp, ok := f.begin(s)
	if !ok {
		return dst, false
	}
	mask, align, isa, codeMask, modules := arch.AddrMask(), max(arch.StackAlign, 1)-1, arch.ISABit, snap.CodeMask, snap.Modules
	level := s.Exact // CFA = SP is possible; of other frames circle wants to know
	started, t := len(dst), &f.trail
	size := uint64(t.stack.size)
	for len(dst) < most {
		callee := &dst[len(dst)-1]
		var r *packed.Rule
		var c *caller
		if e := f.local.rule(at); e != nil {
			r, c = &e.rule, &e.caller
		} else if r, c = f.imageRule(s, at, callee.Module); r == nil {
			break
		}
		if r.Ends() {
			return dst, true
		}
		base, off, loaded := r.CFA()
		cfa := sp
		if base != arch.SP {
			if cfa, ok = t.value(base, dst[started-1:]); !ok {
				break
			}
		}
		if cfa += off; loaded {
			if cfa, ok = t.stack.inWindow(cfa & mask); !ok {
				break
			}
		}
		if cfa &= mask; cfa < sp || cfa == sp && !level || !s.Stack.Contains(cfa) {
			f.beyond(s, r, c, cfa)
			break
		}
		var ra uint64
		if !r.SavesRA() {
			ra, ok = t.linkRegister()
		} else {
			ra, ok = t.stack.inWindow((cfa + r.RA(size)) & mask)
		}
		if ra &= mask; !ok {
			f.beyond(s, r, c, cfa)
			break
		}
		if r.SignedRA() && codeMask != 0 {
			ra = target.Unsigned(ra, codeMask)
		}
		if c.ra != ra || c.length() == 0 {
			if c = f.otherCaller(s, at, ra, callee.Module); c == nil {
				break
			}
		}
		if cfa&align == 0 != (c.checks&unwind.SPAligned != 0) {
			break
		}
		callee.CFA, callee.HasCFA = cfa, true
		// Not ra, though it is equal: so the processor looks the next rule up before memory has answered.
		pc, mode := c.ra, c.mode()
		if isa {
			pc &^= 1
		}
		dst = append(dst, unwind.Frame{PC: pc, CallSite: pc - c.length(), Module: modules[c.module],
			Checks: c.checks, Mode: mode, Method: c.method(), Trust: c.trust()})
		t.rules = append(t.rules, r)
		from := at
		at = place{codeAddr(pc), uint32(mode) | tagUsed}
		sp, level = cfa, false
		if c.costly() && f.spend(from, c) {
			break
		}
	}
	if len(t.rules) > 0 {
		t.materialize(s, dst[started-1:])
	}
	return dst, f.ended
}

// beyond ends a walk at a frame whose return address was not captured: perf copies the innermost 8 kB of a
// stack, or up to 64. The rule is a table's, which places the return address for sure, and code is not asked (Options.Unchecked).
func (f *fastPath) beyond(s *State, r *packed.Rule, c *caller, cfa uint64) {
	_, _, loaded := r.CFA()
	if !f.finder.unchecked || !r.SavesRA() || loaded || basisOf(c.method()) != inTable {
		return
	}
	size := s.Snapshot.Arch.RegSize
	addr := (cfa + r.RA(uint64(size))) & s.Snapshot.Arch.AddrMask()
	if _, captured := s.Snapshot.Memory.Uint(addr, size); !captured {
		f.end, f.ended = unwind.Stop{Reason: unwind.StopUnreadable, Addr: addr}, true
	}
}

// spend counts what finding the caller of a frame costs who has no cache, and tells whether the
// walk has cost enough.
func (f *fastPath) spend(at place, c *caller) bool {
	f.finder.pay(at, c.cost(), 0)
	return f.finder.account.exhausted()
}

// otherCaller finds a caller that is not kept beside the rule, nil if unknown.
func (f *fastPath) otherCaller(s *State, at place, ra uint64, m *target.Module) *caller {
	if c := f.local.caller(at, ra); c != nil {
		return c
	}
	return f.imageCaller(s, at, ra, m)
}

// begin starts a trail at s, and tells where s is and what its SP is. It reports false where
// no cache knows the place, or the walk has cost enough: sources are left out then.
func (f *fastPath) begin(s *State) (at place, sp uint64, ok bool) {
	arch := s.Snapshot.Arch
	f.end, f.ended = unwind.Stop{Reason: unwind.StopRoot}, false
	sp, ok = s.Regs.Lookup(arch.SP)
	if !ok || s.Module == nil || f.finder.account.exhausted() {
		return at, 0, false
	}
	at = placeOf(s.PC, s.Mode, s.Exact)
	if f.local.rule(at) == nil {
		if r, _ := f.imageRule(s, at, s.Module); r == nil {
			return at, 0, false
		}
	}
	sp &= arch.AddrMask()
	f.trail.begin(s, sp)
	return at, sp, true
}

// imageRule finds the rule and the caller that other walkers left for a place in m, nil if
// none did. A caller in another image has length 0: imageCaller finds it by the return
// address. What is found is stored if the place comes up again.
func (f *fastPath) imageRule(s *State, at place, m *target.Module) (rule *packed.Rule, c *caller) {
	of := f.modules.of(s.Snapshot, m)
	if of.cache == nil {
		return nil, nil
	}
	r := of.cache.rule(imagePlace(of.module, at))
	if r == nil {
		return nil, nil
	}
	f.found = *r
	if c = &f.found.caller; c.module != of.cache.id {
		c.call = 0
		return &r.rule, c
	}
	f.fromImage(at, of)
	return &r.rule, c
}

// imageCaller finds the caller that other walkers left for a place in m and a return
// address, nil if none did. The caller is stored if the place comes up again.
func (f *fastPath) imageCaller(s *State, at place, ra uint64, m *target.Module) *caller {
	of := f.modules.of(s.Snapshot, m)
	pc, _ := s.Snapshot.Arch.SplitCode(ra)
	if of.cache == nil || ra == 0 {
		return nil
	}
	in := of
	if !m.Contains(pc - 1) {
		other, ok := s.Snapshot.ModuleAt(pc - 1)
		if !ok {
			return nil
		}
		if in = f.modules.of(s.Snapshot, other); in.cache == nil {
			return nil
		}
	}
	p := imagePlace(of.module, at)
	r := of.cache.rule(p)
	if r == nil {
		return nil
	}
	c := of.cache.caller(p, r, in.module.ToImage(ra)&s.Snapshot.Arch.AddrMask(), in.cache.id)
	if c == nil {
		return nil
	}
	f.found = cachedRule{r.rule, *c}
	f.fromImage(at, in)
	return &f.found.caller
}

// imagePlace is a place of m in image addresses.
func imagePlace(m *target.Module, at place) place {
	return place{codeAddr(m.ToImage(uint64(at.pc)) & m.Image.Arch.AddrMask()), at.tag}
}

// fromImage translates the caller in f.found, an address of the module in, to target
// addresses, and stores f.found if the place comes up again.
func (f *fastPath) fromImage(at place, in moduleCache) {
	c := &f.found.caller
	c.ra, c.module = in.module.ToTarget(c.ra), in.index
	if f.admission.admits(uint64(at.pc)) {
		f.local.store(at, f.found)
	}
}

// learn stores how the caller of s was found, and publishes it for other walkers: nothing
// but code decided. What the stack decided, advance checks again for every frame.
func (f *fastPath) learn(s *State, known cachedRule, c *candidate) {
	at := placeOf(s.PC, s.Mode, s.Exact)
	published := f.publish(s, at, known, c)
	if s.Exact && published { // most samples of a profile interrupt another instruction
		return
	}
	if f.admission.admits(s.PC) {
		f.local.store(at, known)
	}
}

// cacheable tells whether code alone decided about the best candidate: the first answer
// of all came from a rule source and was the last. known is what to store.
func cacheable(s *State, r *search) (known cachedRule, ok bool) {
	c := &r.best
	if s.shadow.top != 0 || r.answers != 1 || !r.lastRule || r.starved || !c.convinces() || c.end && c.trust != unwind.Certain ||
		s.Module == nil || s.Module.Image == nil || !s.Module.Image.Segments.Executable(s.Module.ToImage(s.PC-1)&s.Module.Image.Arch.AddrMask()) {
		return known, false
	}
	if c.end {
		return cachedRule{rule: packed.End()}, true
	}
	const stack = unwind.SPMonotonic | unwind.SPInStack
	if !c.checks.Has(stack|unwind.CallBefore) || c.checks&(unwind.AtTrampoline|unwind.ReturnHooked|unwind.OnlyCaller) != 0 || c.flags&Inferred != 0 ||
		c.Exact || c.module == nil || c.module.Image == nil {
		return known, false
	}
	module := moduleIndex(s.Snapshot, c.module)
	if !r.packed || module > math.MaxUint16 || c.pc-c.site > mostCallLen {
		return known, false
	}
	known = cachedRule{r.first, caller{ra: c.raw, checks: c.checks, module: uint16(module),
		call: callOf(uint8(c.pc-c.site), r.cost+r.searched), how: howOf(c.mode, c.trust, c.method)}}
	pc, mode := s.Snapshot.Arch.SplitCode(c.raw)
	return known, pc == c.pc && mode == c.mode && pc-known.caller.length() == c.site
}

// publish leaves a rule, and the caller that it leads to, with the image, and tells whether it did.
func (f *fastPath) publish(s *State, at place, r cachedRule, c *candidate) bool {
	of := f.modules.of(s.Snapshot, s.Module)
	if of.cache == nil {
		return false
	}
	if !r.rule.Ends() {
		in := f.modules.of(s.Snapshot, c.module)
		if in.cache == nil || !c.imageOnly {
			return false
		}
		r.caller.ra, r.caller.module = in.module.ToImage(r.caller.ra)&s.Snapshot.Arch.AddrMask(), in.cache.id
	}
	of.cache.publish(imagePlace(of.module, at), r)
	return true
}
