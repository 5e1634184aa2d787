package image

import (
	"sync/atomic"

	"github.com/backsight/backsight/internal/memo"
)

// memoEntry is a value that is made once.
type memoEntry struct {
	key  any
	next *memoEntry
	memo.Once[any]
}

// memos are values that were made once each, by key: a list, for an image has some thirty of them, and a capture may have
// thousands of images. They are for concurrent use.
type memos struct {
	first atomic.Pointer[memoEntry]
}

// get returns the value for key, which make builds at the first call. Where make panics, every get
// of that key panics.
func (m *memos) get(key any, make func() any) any { return m.entry(key).Get(make) }

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
