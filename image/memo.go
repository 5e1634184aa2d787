package image

import "sync"

type memoEntry struct {
	once sync.Once
	v    any
	lost any // what make panicked with
}

// Memo returns the value that make built for key the first time; a source keeps
// its per-image tables so. Concurrent callers of one key wait for the first. Keys
// are compared like map keys: use an unexported type of the caller's package.
func (img *Image) Memo(key any, make func() any) any {
	e, ok := img.memo.Load(key)
	if !ok {
		e, _ = img.memo.LoadOrStore(key, new(memoEntry))
	}
	m := e.(*memoEntry)
	m.once.Do(func() {
		defer func() {
			if m.lost = recover(); m.lost != nil {
				panic(m.lost)
			}
		}()
		m.v = make()
	})
	if m.lost != nil { // for those who waited, and who come later
		panic(m.lost)
	}
	return m.v
}
