package unwind

import (
	"math/bits"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// CacheStats count what a Walker's cache was asked.
type CacheStats struct {
	// Hits are frames that it unwound, alone or with what other walkers know, Misses
	// those that sources unwound.
	Hits, Misses uint64
	// Conflicts are rules that gave way to another while both were in use.
	Conflicts uint64
	// Rules and Callers are how many it holds.
	Rules, Callers int
}

// cache keeps what sources and checks found out, as far as that follows from code
// alone: for a PC the rule; for a PC and the return address that the rule led to,
// what speaks for that caller. A frame is unwound from the cache when both are
// there and the stack pointer rises within the stack; the frame is then the one
// that sources would find, which is asserted of a rule before it is kept: it was
// the only answer, and good enough to end the search.
//
// Most places have one caller, which is kept beside the rule. Many walkers walk one
// stack: what they meet first is kept only when it comes up again.
type cache struct {
	seen     [maxSeen]uint32 // low halves of PCs that came up
	offers   int             // as often was something worth keeping, or not
	rules    []cachedRule
	callers  []cachedCaller
	nRules   int
	nCallers int
	stats    CacheStats
}

// ruleKey is a PC as the key of a rule: bit 0 of kind is the mode, bit 1 Exact, bit 7
// marks a used slot.
type ruleKey struct {
	pc   uint64
	kind uint8
}

const (
	kindExact = 1 << 1
	kindUsed  = 1 << 7
)

func kindOf(mode cpu.Mode, exact bool) uint8 {
	k := uint8(mode)&1 | kindUsed
	if exact {
		k |= kindExact
	}
	return k
}

// caller is what is known of a return address behind a certain callee.
type caller struct {
	ra     uint64 // as the rule yields it, mode bit included
	module uint16 // index in Snapshot.Modules
	checks Checks
	trust  Trust
	mode   cpu.Mode
	back   uint8 // from the call to the address that it returns to
}

type cachedRule struct {
	pc     uint64
	rule   Packed
	caller caller
	kind   uint8
	method Method
}

type cachedCaller struct {
	pc     uint64
	caller caller
	kind   uint8
}

const (
	// ways is how many slots a key can be in. A table grows when a key finds all
	// of them taken; up to its full size there are no conflicts.
	ways     = 8
	minTable = 128
	// maxTable bounds a table: 16384 rules are 0.8 MB. Profiles of clang come
	// through 3,800 places.
	maxTable = 1 << 14
)

const (
	// early is how many offers take part in that, enough for most stacks.
	early   = 128
	maxSeen = 256
)

// worth tells whether to keep what holds at pc, which is not there.
func (c *cache) worth(pc uint64) bool {
	if c.offers++; c.offers > early {
		return true
	}
	s := &c.seen[hash(pc)%maxSeen]
	again := *s == uint32(pc)
	*s = uint32(pc)
	return again
}

// hash spreads addresses: the golden ratio's bits times the address, upper half.
func hash(x uint64) uint64 { return x * 0x9e37_79b9_7f4a_7c15 >> 32 }

// rule finds the rule of a place, nil where there is none.
func (c *cache) rule(p ruleKey) *cachedRule {
	if len(c.rules) == 0 {
		return nil
	}
	mask := uint64(len(c.rules) - 1)
	h := hash(p.pc)
	for i := range uint64(ways) {
		if e := &c.rules[(h^i)&mask]; e.pc == p.pc && e.kind == p.kind {
			return e
		}
	}
	return nil
}

// other finds a caller that is not the one beside the rule.
func (c *cache) other(p ruleKey, ra uint64) *caller {
	if len(c.callers) == 0 {
		return nil
	}
	mask := uint64(len(c.callers) - 1)
	h := hash(p.pc ^ ra<<7)
	for i := range uint64(ways) {
		if e := &c.callers[(h^i)&mask]; e.pc == p.pc && e.kind == p.kind && e.caller.ra == ra {
			return &e.caller
		}
	}
	return nil
}

// keep keeps a rule and a caller that it leads to.
func (c *cache) keep(r *cachedRule) {
	p := ruleKey{r.pc, r.kind}
	if c.rule(p) == nil {
		for !c.putRule(r, len(c.rules) >= maxTable) {
			c.growRules()
		}
		return
	}
	for !r.rule.ends() && !c.putCaller(&cachedCaller{r.pc, r.caller, r.kind}, len(c.callers) >= maxTable) {
		c.growCallers()
	}
}

// putRule reports false when the table should grow first; with force another rule
// gives way.
func (c *cache) putRule(r *cachedRule, force bool) bool {
	mask, h := uint64(len(c.rules)-1), hash(r.pc)
	for i := range uint64(min(ways, len(c.rules))) {
		if e := &c.rules[(h^i)&mask]; e.kind == 0 {
			*e = *r
			c.nRules++
			return true
		}
	}
	if force {
		c.rules[h&mask] = *r
		c.stats.Conflicts++
	}
	return force
}

func (c *cache) growRules() {
	old := c.rules
	c.rules, c.nRules = make([]cachedRule, max(minTable, 2*len(old))), 0
	for i := range old {
		if old[i].kind != 0 {
			c.putRule(&old[i], true)
		}
	}
}

func (c *cache) putCaller(r *cachedCaller, force bool) bool {
	mask, h := uint64(len(c.callers)-1), hash(r.pc^r.caller.ra<<7)
	for i := range uint64(min(ways, len(c.callers))) {
		if e := &c.callers[(h^i)&mask]; e.kind == 0 {
			*e = *r
			c.nCallers++
			return true
		}
	}
	if force {
		c.callers[h&mask] = *r
		c.stats.Conflicts++
	}
	return force
}

func (c *cache) growCallers() {
	old := c.callers
	c.callers, c.nCallers = make([]cachedCaller, max(minTable, 2*len(old))), 0
	for i := range old {
		if old[i].kind != 0 {
			c.putCaller(&old[i], true)
		}
	}
}

// forget drops everything: the modules are others.
func (c *cache) forget() {
	clear(c.rules)
	clear(c.callers)
	c.nRules, c.nCallers = 0, 0
}

// CacheStats returns the counters of the walker's cache.
func (w *Walker) CacheStats() CacheStats {
	s := w.cache.stats
	s.Rules, s.Callers = w.cache.nRules, w.cache.nCallers
	return s
}

// Use makes the walker walk another snapshot. What it has cached remains where
// that has the same modules at the same places, as with the samples of a profiler
// and the snapshots of a batch.
func (w *Walker) Use(snap *target.Snapshot) {
	if snap.Arch != w.snap.Arch || snap.CodeMask != w.snap.CodeMask || !sameModules(snap.Modules, w.snap.Modules) {
		w.cache.forget()
		w.near = [2]known{}
	}
	w.snap, w.keeps = snap, snap.Arch.Preserved
	if w.ahead != nil {
		w.ahead.snap = snap
	}
}

// index is the bit of a preserved register in Packed.saved, 0 where it has none.
func (w *Walker) index(reg cpu.Reg) int {
	if !w.keeps.Has(reg) {
		return 0
	}
	return bits.OnesCount64(uint64(w.keeps)&(1<<reg-1)) + 1
}

func sameModules(a, b []*target.Module) bool {
	if len(a) != len(b) || len(a) == 0 {
		return false
	}
	if &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if a[i] != b[i] && (a[i].Image != b[i].Image || a[i].Range != b[i].Range || a[i].Bias != b[i].Bias) {
			return false
		}
	}
	return true
}
