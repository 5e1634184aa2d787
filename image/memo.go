package image

import (
	"sync"
	"sync/atomic"
)

// memoEntry is a value that is made once.
type memoEntry struct {
	key  any
	next *memoEntry
	once sync.Once
	v    any
	lost any // what make panicked with
}

// memos are values that were made once each, by key: a list, for an image has some thirty of them, and a capture may have
// thousands of images. They are for concurrent use.
type memos struct {
	first atomic.Pointer[memoEntry]
}

// get returns the value for key, which make builds at the first call. Where make panics, every get
// of that key panics.
func (m *memos) get(key any, make func() any) any {
	e := m.entry(key)
	e.once.Do(func() {
		defer func() {
			if e.lost = recover(); e.lost != nil {
				panic(e.lost)
			}
		}()
		e.v = make()
	})
	if e.lost != nil { // for those who waited, and who come later
		panic(e.lost)
	}
	return e.v
}

// entry is the entry of a key, a new one where there is none.
func (m *memos) entry(key any) *memoEntry {
	for {
		first := m.first.Load()
		for e := first; e != nil; e = e.next {
			if e.key == key {
				return e
			}
		}
		if e := (&memoEntry{key: key, next: first}); m.first.CompareAndSwap(first, e) {
			return e
		}
	}
}
