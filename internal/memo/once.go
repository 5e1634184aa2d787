package memo

import "sync"

// Once is a value that is made when it is asked for first. The zero value is ready; any goroutine may use it.
type Once[V any] struct {
	once  sync.Once
	value V
	lost  any // what make panicked with

	_ [0]func() // values are not compared, so that no code has to
}

// Get returns the value, which make builds at the first call. Where make panics, every Get panics.
func (o *Once[V]) Get(make func() V) V {
	o.once.Do(func() {
		defer func() {
			if o.lost = recover(); o.lost != nil {
				panic(o.lost)
			}
		}()
		o.value = make()
	})
	if o.lost != nil { // for those who waited, and who come later
		panic(o.lost)
	}
	return o.value
}
