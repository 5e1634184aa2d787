// Package memo keeps what was found out, within a bound.
package memo

import "sync"

// Table keeps values by key: at most two generations of Bound entries each. A full
// young generation becomes the old one, whose entries are dropped unless they were
// asked for again. The zero value with a Bound is ready; any goroutine may use it.
type Table[K comparable, V any] struct {
	// Bound is how many entries a generation holds; it must be set before use.
	Bound int
	// Weigh, if set, tells how many entries a value counts for: one that needs much
	// memory, for many. A generation holds no more than Bound and one value.
	Weigh func(V) int

	mu         sync.RWMutex
	young, old map[K]V
	weight     int            // of young
	working    map[K]*work[V] // being found out
}

// work is a value that a goroutine finds out.
type work[V any] struct {
	done  chan struct{} // closed at the end
	value V
	found bool // the work ended with a value
}

// Find returns the value of a key, if the table has one.
func (t *Table[K, V]) Find(k K) (v V, ok bool) {
	t.mu.RLock()
	if v, ok = t.young[k]; ok {
		t.mu.RUnlock()
		return v, true
	}
	v, ok = t.old[k]
	t.mu.RUnlock()
	if ok {
		t.Keep(k, v)
	}
	return v, ok
}

// Keep stores the value of a key.
func (t *Table[K, V]) Keep(k K, v V) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.weight >= t.Bound {
		t.old, t.young, t.weight = t.young, nil, 0
	}
	if t.young == nil {
		t.young = make(map[K]V)
	}
	if _, again := t.young[k]; !again {
		t.weight += t.weigh(v)
	}
	t.young[k] = v
}

func (t *Table[K, V]) weigh(v V) int {
	if t.Weigh == nil {
		return 1
	}
	return t.Weigh(v)
}

// Get returns the value of a key, which find finds out where the table does not have it.
// Who asks for the same key meanwhile waits for find; others do not. find must not ask for
// the same key. Where find panics, those who wait try themselves.
func (t *Table[K, V]) Get(k K, find func() V) V {
	for {
		if v, ok := t.Find(k); ok {
			return v
		}
		w, others := t.begin(k)
		if w == nil {
			continue
		}
		if !others {
			return t.finish(k, w, find)
		}
		if <-w.done; w.found {
			return w.value
		}
	}
}

// begin takes the work on a key, or finds the work of another goroutine. It returns no work
// where another goroutine has ended its work since the caller looked.
func (t *Table[K, V]) begin(k K) (w *work[V], others bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w, others = t.working[k]; others {
		return w, true
	}
	if _, ended := t.young[k]; ended {
		return nil, false
	}
	if t.working == nil {
		t.working = make(map[K]*work[V])
	}
	w = &work[V]{done: make(chan struct{})}
	t.working[k] = w
	return w, false
}

// finish does the work on a key.
func (t *Table[K, V]) finish(k K, w *work[V], find func() V) V {
	defer func() {
		t.mu.Lock()
		delete(t.working, k)
		t.mu.Unlock()
		close(w.done)
	}()
	w.value = find()
	w.found = true
	t.Keep(k, w.value)
	return w.value
}

// Entries is how many there are; a key of both generations counts twice. A method of the name Len would be linked for each kind of
// table, asked for or not, for sort.Interface has one.
func (t *Table[K, V]) Entries() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.young) + len(t.old)
}

// Clear drops all entries.
func (t *Table[K, V]) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.young)
	t.old, t.weight = nil, 0
}
