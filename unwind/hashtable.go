package unwind

import "sync/atomic"

// hashKey is what a hashTable's values are found by, beside a tag.
type hashKey interface {
	comparable
	hash() uint64
}

// hashTable is the hash table of all caches: the slots that a key can be in are ways many.
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
	// ways is how many slots a key can be in. A table doubles when a key finds all of
	// its slots taken.
	ways     = 8
	minTable = 128
	// maxTable bounds a table: 16384 rules are 0.8 MB. Profiles of clang come
	// through 3,800 places. A table that would grow beyond starts anew, empty.
	maxTable = 1 << 14
)

// spread is a hash of addresses: the golden ratio's bits times the address, upper half.
func spread(x uint64) uint64 { return x * 0x9e37_79b9_7f4a_7c15 >> 32 }

// find returns the value of a key, nil where the table has none. hash is key.hash(),
// which the compiler inlines at the caller, but not here.
func (t hashTable[K, V]) find(hash uint64, tag uint32, key K) *V {
	if len(t) == 0 {
		return nil
	}
	mask := uint64(len(t) - 1)
	for i := range uint64(ways) {
		if s := &t[(hash^i)&mask]; s.tag.Load() == tag && s.key == key {
			return &s.value
		}
	}
	return nil
}

// insert adds a key that the table does not have and returns the table that is to be
// used from now on: t, a larger copy, or a new one.
func (t hashTable[K, V]) insert(tag uint32, key K, value V) hashTable[K, V] {
	for !t.put(tag, key, value) {
		t = t.grown()
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
		if s := &t[(hash^i)&mask]; s.tag.Load() == 0 {
			s.key, s.value = key, value
			s.tag.Store(tag)
			return true
		}
	}
	return false
}

// grown returns a table of twice the size with t's values. Where many keys share their
// slots still, some are left out: they are found out anew.
func (t hashTable[K, V]) grown() hashTable[K, V] {
	if len(t) >= maxTable {
		return make(hashTable[K, V], minTable)
	}
	large := make(hashTable[K, V], max(minTable, 2*len(t)))
	for i := range t {
		if s := &t[i]; s.tag.Load() != 0 {
			large.put(s.tag.Load(), s.key, s.value)
		}
	}
	return large
}
