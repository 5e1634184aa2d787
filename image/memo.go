package image

import "sync"

type memoEntry struct {
	once sync.Once
	v    any
	lost any // what make panicked with
}

// memos are values that were made once each, by key. They are for concurrent use.
type memos struct {
	entries sync.Map // any → *memoEntry
}

// get returns the value for key, which make builds at the first call. Where make panics, every get
// of that key panics.
func (m *memos) get(key any, make func() any) any {
	kept, ok := m.entries.Load(key)
	if !ok {
		kept, _ = m.entries.LoadOrStore(key, new(memoEntry))
	}
	e := kept.(*memoEntry)
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
