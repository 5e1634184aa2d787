package unwind

import (
	"math"
	"sync"
	"sync/atomic"
)

// Shared is what walkers with the same sources and the same CallGraph leave for one another:
// of each image, the rules and callers that code alone decides. It is kept with the
// images. A walker that is new to a stack finds most of its frames there.
type Shared struct{ images atomic.Uint32 }

// facts are those of one image: cachedRules in image addresses, which do not change. As
// caller.module they have the id of the caller's image. Any goroutine may ask.
type facts struct {
	id    uint16 // 0: there are too many images
	mu    sync.Mutex
	table atomic.Pointer[factTable]
}

// factTable is a hash table with ways slots for a key, the first of them in use. It
// grows as cache does.
type factTable []atomic.Pointer[cachedRule]

// open makes f usable, once.
func (f *facts) open(s *Shared) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.table.Load() != nil {
		return
	}
	if id := s.images.Add(1); id <= math.MaxUint16 {
		f.id = uint16(id)
	}
	f.publish(make(factTable, minTable))
}

// factKey hashes a place and a return address: 0 for the one that was met there first.
func factKey(p ruleKey, ra uint64) uint64 { return hash(p.pc ^ ra<<7) }

// slot is the i-th of those in which a fact with this hash can be.
func (t factTable) slot(h, i uint64) *atomic.Pointer[cachedRule] {
	return &t[(h^i)&uint64(len(t)-1)]
}

// first returns the fact of a place that was met there first.
func (t factTable) first(p ruleKey) *cachedRule {
	h := factKey(p, 0)
	for i := range uint64(ways) {
		if r := t.slot(h, i).Load(); r == nil || r.pc == p.pc && r.kind == p.kind {
			return r
		}
	}
	return nil
}

// find returns the fact of a place with a return address in an image.
func (t factTable) find(p ruleKey, ra uint64, image uint16) *cachedRule {
	if r := t.first(p); r == nil || r.caller.ra == ra && r.caller.module == image {
		return r
	}
	h := factKey(p, ra)
	for i := range uint64(ways) {
		r := t.slot(h, i).Load()
		if r == nil || r.pc == p.pc && r.kind == p.kind && r.caller.ra == ra && r.caller.module == image {
			return r
		}
	}
	return nil
}

// keep keeps a fact, unless it is there.
func (f *facts) keep(fact cachedRule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, p := *f.table.Load(), ruleKey{fact.pc, fact.kind}
	if t.find(p, fact.caller.ra, fact.caller.module) != nil {
		return
	}
	first := t.first(p) == nil
	r := new(cachedRule)
	*r = fact
	for !t.put(r, first, len(t) >= maxTable) {
		t = t.grown()
	}
	if len(t) != len(*f.table.Load()) {
		f.publish(t)
	}
}

func (f *facts) publish(t factTable) { f.table.Store(&t) }

// put reports false when the table should grow first; with force another fact gives
// way. first: it is to be found without its return address.
func (t factTable) put(r *cachedRule, first, force bool) bool {
	ra := r.caller.ra
	if first {
		ra = 0
	}
	h := factKey(ruleKey{r.pc, r.kind}, ra)
	for i := range uint64(ways) {
		if s := t.slot(h, i); s.Load() == nil {
			s.Store(r)
			return true
		}
	}
	if force {
		t.slot(h, 0).Store(r)
	}
	return force
}

// grown is a table of twice the size with the same facts.
func (t factTable) grown() factTable {
	big := make(factTable, 2*len(t))
	for i := range t {
		if r := t[i].Load(); r != nil {
			big.put(r, t.first(ruleKey{r.pc, r.kind}) == r, true)
		}
	}
	return big
}
