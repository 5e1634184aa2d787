package unwind

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/target"
)

// Shared is what walkers with the same sources and the same CallGraph leave for one another:
// the rules and callers that an image's code alone decides, kept with the image. A walker
// that is new to a stack finds most frames there.
type Shared struct {
	images  atomic.Uint32
	sorting sync.Once
	sources *ownSources
}

// imageCache is a ruleCache of one image, in image addresses, which are the same in every
// process. caller.module is the ID of the caller's image. Any goroutine may look values up;
// mu is for goroutines that add values.
type imageCache struct {
	id      uint16 // 0: there are too many images, and the cache is not used
	mu      sync.Mutex
	rules   atomic.Pointer[hashTable[codeAddr, cachedRule]]
	callers atomic.Pointer[hashTable[callKey, caller]]
}

// open gives c an ID and empty tables, once.
func (c *imageCache) open(s *Shared) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rules.Load() != nil {
		return
	}
	if id := s.images.Add(1); id <= math.MaxUint16 {
		c.id = uint16(id)
	}
	c.callers.Store(new(hashTable[callKey, caller]))
	c.rules.Store(new(hashTable[codeAddr, cachedRule]))
}

// rule finds the rule of a place, nil where there is none.
func (c *imageCache) rule(p place) *cachedRule {
	return c.rules.Load().find(p.pc.hash(), p.tag, p.pc)
}

// caller finds the caller of a place with a return address in an image, where r is what
// the cache has for the place.
func (c *imageCache) caller(p place, r *cachedRule, ra uint64, image uint16) *caller {
	if r.caller.ra == ra && r.caller.module == image {
		return &r.caller
	}
	k := callKey{uint64(p.pc), ra}
	return c.callers.Load().find(k.hash(), p.tag|uint32(image)<<imageShift, k)
}

// publish adds a rule and its caller; where the rule is known already, the caller.
func (c *imageCache) publish(p place, r cachedRule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.rule(p)
	if known == nil {
		t := c.rules.Load().insert(p.tag, p.pc, r)
		c.rules.Store(&t)
		return
	}
	if ra, image := r.caller.ra, r.caller.module; !r.rule.Ends() && c.caller(p, known, ra, image) == nil {
		t := c.callers.Load().insert(p.tag|uint32(image)<<imageShift, callKey{uint64(p.pc), ra}, r.caller)
		c.callers.Store(&t)
	}
}

// moduleCache is a module and the cache of its image; nil where the cache cannot be used.
type moduleCache struct {
	module *target.Module
	cache  *imageCache
	index  uint16 // in Snapshot.Modules
}

// moduleCaches finds the moduleCache of a module. A walk goes from one module to another
// and back, so that the last two are kept.
type moduleCaches struct {
	shared *Shared // nil: no cache is used
	last   [2]moduleCache
}

func (k *moduleCaches) of(snap *target.Snapshot, m *target.Module) moduleCache {
	switch m {
	case k.last[0].module:
	case k.last[1].module:
		k.last[0], k.last[1] = k.last[1], k.last[0]
	default:
		k.last[0], k.last[1] = newModuleCache(k.shared, snap, m), k.last[0]
	}
	return k.last[0]
}

// biasUnit divides all biases: the low bits of an address, its ISA mode among them, are
// the same in the image.
const biasUnit = 1 << 12

// newModuleCache finds the cache of m's image, if m's code is what the image says: mapped as
// a whole, at a bias that keeps the low bits of addresses, for the program's processor.
func newModuleCache(shared *Shared, snap *target.Snapshot, m *target.Module) moduleCache {
	k := moduleCache{module: m}
	i := slices.Index(snap.Modules, m)
	if shared == nil || m.Image == nil || m.Image.Arch != snap.Arch || m.Bias%biasUnit != 0 || uint(i) > math.MaxUint16 || !whole(m) {
		return k
	}
	c := m.Image.Memo(shared, func() any { return new(imageCache) }).(*imageCache)
	if c.rules.Load() == nil {
		c.open(shared)
	}
	if c.id != 0 {
		k.cache, k.index = c, uint16(i)
	}
	return k
}

// whole tells whether all code of a module's image is mapped.
func whole(m *target.Module) bool {
	for i := range m.Image.Segments {
		s := &m.Image.Segments[i]
		if at := m.ToTarget(s.Addr); s.Exec && (!m.Contains(at) || !m.Contains(at+s.Size-1)) {
			return false
		}
	}
	return true
}
