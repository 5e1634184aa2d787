package stackwalk

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/unwind"
)

// ruleCache is what sources and checks found out, as far as that follows from code
// alone: for a PC the rule; for a PC and the return address that the rule led to,
// what speaks for that caller. A frame is unwound from a cache when both are there and
// the stack pointer rises within the stack. The frame then is the one that the sources
// would find: a rule is stored only if it was the only answer, and good enough to end
// the search.
//
// Most places have one caller, which is kept beside the rule; further callers are in
// callers.
type ruleCache struct {
	rules   hashTable[codeAddr, cachedRule]
	callers hashTable[callKey, caller]
	most    int // slots of a table
}

// callKey is a place's PC and a return address that its rule led to.
type callKey struct{ pc, ra uint64 }

func (k callKey) hash() uint64 { return spread(k.pc ^ k.ra<<7) }

// cachedRule is the rule of a place, and the caller that was met there first. The
// caller's length is 0 where only the rule is known.
type cachedRule struct {
	rule   packed.Rule
	caller caller
}

// caller is what is known of a return address behind a certain callee, in 16 bytes.
type caller struct {
	ra     uint64 // as the rule yields it, mode bit included
	checks unwind.Checks
	module uint16 // index in Snapshot.Modules; in an imageCache, the ID of an image
	call   uint8  // bits 0–3: from the call to the address that it returns to, 0: nothing is known; bits 4–7: cost
	how    uint8  // bit 0: ISA mode; bits 1–2: trust; bits 3–7: method
}

func howOf(mode cpu.Mode, trust unwind.Trust, method unwind.Method) uint8 {
	return uint8(mode)&1 | uint8(trust)<<1 | uint8(method)<<3
}

// What is known of a caller's call, see caller.call: mostCallLen is the longest; costShift is
// where the cost begins.
const (
	mostCallLen = 1<<costShift - 1
	costShift   = 4
)

// callOf packs a length, at most mostCallLen, and what it cost to find the caller, rounded up
// to a power of two times cheap.
func callOf(length uint8, cost uint64) uint8 {
	return length | min(uint8(bits.Len64(cost/cheap)), 1<<(8-costShift)-1)<<costShift
}

// length is that of the call, with the delay slot.
func (c *caller) length() uint64 { return uint64(c.call & mostCallLen) }

// costly tells whether finding the caller cost anything that counts.
func (c *caller) costly() bool { return c.call > mostCallLen }

// cost is the cost of finding the caller, in instructions. A walk that takes the caller from a cache is
// charged the same as a walk that finds the caller, so that both end at the same frame.
func (c *caller) cost() uint64 {
	if !c.costly() {
		return 0
	}
	return cheap << (c.call >> costShift)
}

func (c *caller) mode() cpu.Mode { return cpu.Mode(c.how & 1) }

func (c *caller) trust() unwind.Trust { return unwind.Trust(c.how >> 1 & 3) }

func (c *caller) method() unwind.Method { return unwind.Method(c.how >> 3) }

// rule finds the rule of a place, nil where there is none.
func (c *ruleCache) rule(p place) *cachedRule { return c.rules.find(p.pc.hash(), p.tag, p.pc) }

// caller finds a caller that is not kept beside the rule, nil if unknown.
func (c *ruleCache) caller(p place, ra uint64) *caller {
	k := callKey{uint64(p.pc), ra}
	return c.callers.find(k.hash(), p.tag, k)
}

// store adds a rule and its caller; where the rule is known already, the caller.
func (c *ruleCache) store(p place, r cachedRule) {
	if known := c.rule(p); known == nil {
		c.rules = c.rules.insert(c.most, p.tag, p.pc, r)
	} else if ra := r.caller.ra; r.caller.length() != 0 && known.caller.ra != ra && c.caller(p, ra) == nil {
		c.callers = c.callers.insert(c.most, p.tag, callKey{uint64(p.pc), ra}, r.caller)
	}
}

// admission decides what a walker's own cache stores. Many walkers walk one stack and end:
// the first places that a walker meets are stored only when they come up again.
type admission struct {
	seen   [maxSeen]uint32 // low halves of PCs that came up
	offers int             // how often the question was asked
}

const (
	// earlyOffers is how many offers are only stored the second time: most stacks have
	// fewer frames.
	earlyOffers = 128
	maxSeen     = 256
)

// admits tells whether to store what holds at pc.
func (a *admission) admits(pc uint64) bool {
	if a.offers++; a.offers > earlyOffers {
		return true
	}
	s := &a.seen[spread(pc)%maxSeen]
	again := *s == uint32(pc)
	*s = uint32(pc)
	return again
}

// hashKey is what a hashTable's values are found by, beside a tag.
type hashKey interface {
	comparable
	hash() uint64
}

// hashTable is the hash table of all caches, with linear probing: the slots that a key can be in are ways many.
// A slot is filled once and never changes, so that any goroutine may look values up
// while another one adds some: find needs no lock, insert does. nil is an empty table.
type hashTable[K hashKey, V any] []hashSlot[K, V]

// hashSlot is a key and its value. tag is the part of the key that is never 0 and is
// written last: while tag is 0, the slot is empty.
type hashSlot[K hashKey, V any] struct {
	tag   atomic.Uint32
	key   K
	value V
}

const (
	// ways is how many slots a key can be in. A table doubles when a key finds all of its slots taken, which comes when more than
	// half of the table are.
	ways     = 32
	minTable = 128
	// maxTable bounds a table: 65536 rules are 3 MB. A profile of clang, of 49,000 samples, comes through 18,000 places where
	// functions wait and is interrupted at 25,000. A table that would grow beyond starts anew, empty.
	maxTable = 1 << 16
	// smallTable bounds a table of a profile's walker: the images' tables have its values, too, and are shared by all walkers. 8192
	// rules stay in a processor's second cache.
	smallTable = 1 << 13
)

// find returns the value of a key, nil where the table has none. hash is key.hash(),
// which the compiler inlines at the caller, but not here.
func (t hashTable[K, V]) find(hash uint64, tag uint32, key K) *V {
	if len(t) == 0 {
		return nil
	}
	mask := uint64(len(t) - 1)
	for i := range uint64(ways) {
		s := &t[(hash+i)&mask]
		switch s.tag.Load() {
		case tag:
			if s.key == key {
				return &s.value
			}
		case 0: // put would have filled the slot
			return nil
		}
	}
	return nil
}

// insert adds a key that the table does not have and returns the table that is to be
// used from now on: t, a larger copy, or a new one, of most slots.
func (t hashTable[K, V]) insert(most int, tag uint32, key K, value V) hashTable[K, V] {
	for !t.put(tag, key, value) {
		t = t.grown(most)
	}
	return t
}

// put fills an empty slot. It reports false where the key's slots are taken.
func (t hashTable[K, V]) put(tag uint32, key K, value V) bool {
	if len(t) == 0 {
		return false
	}
	hash, mask := key.hash(), uint64(len(t)-1)
	for i := range uint64(ways) {
		if s := &t[(hash+i)&mask]; s.tag.Load() == 0 {
			s.key, s.value = key, value
			s.tag.Store(tag)
			return true
		}
	}
	return false
}

// grown returns a table of twice the size with t's values. Where many keys share their
// slots still, some are left out: they are found out anew. A table of most slots is followed by an empty one.
func (t hashTable[K, V]) grown(most int) hashTable[K, V] {
	if len(t) >= most {
		return make(hashTable[K, V], minTable)
	}
	large := make(hashTable[K, V], max(minTable, 2*len(t)))
	large.touch()
	for i := range t {
		if s := &t[i]; s.tag.Load() != 0 {
			large.put(s.tag.Load(), s.key, s.value)
		}
	}
	return large
}

// pageSize is the least size of a page of memory.
const pageSize = 4096

// touch writes to each page of an empty table. A page that is read first, to find a slot empty, is a page of zeros to Linux, and
// costs twice as much as soon as the slot is filled: every processor has to drop the first one.
func (t hashTable[K, V]) touch() {
	for i := 0; i < len(t); i += pageSize / int(unsafe.Sizeof(t[0])) {
		t[i].tag.Store(0)
	}
}
