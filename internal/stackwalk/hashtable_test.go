package stackwalk

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// TestHashTable: what was inserted is found by its whole key, tag included, while the
// table grows; a table that would grow beyond its bound starts anew.
func TestHashTable(t *testing.T) {
	var table hashTable[callKey, int]
	find := func(tag uint32, k callKey) *int { return table.find(k.hash(), tag, k) }
	if find(1, callKey{}) != nil {
		t.Error("found in an empty table")
	}
	const n = 4000 // as many as are found in profiles of clang
	for i := range n {
		table = table.insert(maxTable, 1, callKey{uint64(16 * i), 7}, i)
	}
	for i := range n {
		k := callKey{uint64(16 * i), 7}
		if v := find(1, k); v == nil || *v != i {
			t.Fatalf("value %d of a table of %d: %v", i, len(table), v)
		}
		if find(2, k) != nil || find(1, callKey{k.pc, 8}) != nil {
			t.Fatalf("value %d is found by another key", i)
		}
	}
	largest := len(table)
	for i := n; len(table) >= largest; i++ {
		table = table.insert(maxTable, 1, callKey{uint64(16 * i), 7}, i)
		if largest = max(largest, len(table)); largest > maxTable {
			t.Fatalf("%d slots", largest)
		}
	}
	if largest != maxTable || len(table) != minTable || find(1, callKey{0, 7}) != nil {
		t.Errorf("%d slots at most, %d behind a new start", largest, len(table))
	}
}

// TestHashTableReaders: values are looked up while others are inserted; go test -race
// looks on.
func TestHashTableReaders(t *testing.T) {
	var current atomic.Pointer[hashTable[codeAddr, uint64]]
	current.Store(new(hashTable[codeAddr, uint64]))
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !done.Load() {
				for a := codeAddr(0); a < 1000; a++ {
					if v := current.Load().find(a.hash(), 1, a); v != nil && *v != 3*uint64(a) {
						t.Errorf("%d has the value %d", a, *v)
						return
					}
				}
			}
		})
	}
	for a := codeAddr(0); a < 1000; a++ {
		table := current.Load().insert(maxTable, 1, a, 3*uint64(a))
		current.Store(&table)
	}
	done.Store(true)
	readers.Wait()
}

// TestSlotSizes pins what a walk through the caches reads for each frame.
func TestSlotSizes(t *testing.T) {
	if n := unsafe.Sizeof(caller{}); n != 16 {
		t.Errorf("a caller has %d bytes, not 16", n)
	}
	if n := unsafe.Sizeof(hashSlot[codeAddr, cachedRule]{}); n != 48 {
		t.Errorf("a rule's slot has %d bytes, not 48", n)
	}
}
