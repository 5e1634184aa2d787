package memo

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestBound: the table never holds more than two generations, and an entry that is
// asked for outlives the generation that it came with.
func TestBound(t *testing.T) {
	m := Table[int, string]{Bound: 4}
	m.Keep(0, "asked for")
	for i := 1; i < 100; i++ {
		m.Keep(i, "passing by")
		if v, ok := m.Find(0); !ok || v != "asked for" {
			t.Fatalf("after %d others: %q, %v", i, v, ok)
		}
		if m.Entries() > 8 {
			t.Fatalf("%d entries with a bound of 4", m.Entries())
		}
	}
	if _, ok := m.Find(1); ok {
		t.Error("an entry that nobody asked for is still there")
	}
	if m.Clear(); m.Entries() != 0 {
		t.Error("entries after Clear")
	}
}

// TestConcurrent: goroutines share a table; the race detector watches.
func TestConcurrent(t *testing.T) {
	m := Table[int, int]{Bound: 8}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 1000 {
				m.Keep(i%32, i%32)
				if v, ok := m.Find((i + g) % 32); ok && v != (i+g)%32 {
					t.Errorf("key %d has %d", (i+g)%32, v)
				}
			}
		})
	}
	all.Wait()
}

// TestGetOnce: of goroutines that ask for one key, one does the work; a goroutine that asks
// for another key does not wait.
func TestGetOnce(t *testing.T) {
	m := Table[string, int]{Bound: 8}
	began, end := make(chan bool), make(chan bool)
	var all sync.WaitGroup
	all.Go(func() {
		m.Get("slow", func() int { began <- true; <-end; return 1 })
	})
	<-began
	for range 3 {
		all.Go(func() {
			if v := m.Get("slow", func() int { t.Error("the work is done twice"); return 2 }); v != 1 {
				t.Error("slow is", v)
			}
		})
	}
	if v := m.Get("quick", func() int { return 3 }); v != 3 {
		t.Error("quick is", v)
	}
	close(end)
	all.Wait()
}

// TestGetAtTheEnd: a goroutine that did not find the value, and asks for the work when that has
// just ended, does not do the work again. Many goroutines ask at once, so that some of them are
// between the two.
func TestGetAtTheEnd(t *testing.T) {
	m := Table[int, int]{Bound: 10_000}
	for key := range 5_000 {
		var works atomic.Int32
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { m.Get(key, func() int { return int(works.Add(1)) }) })
		}
		if all.Wait(); works.Load() != 1 {
			t.Fatalf("key %d: the work is done %d times", key, works.Load())
		}
	}
}

// TestGetPanics: work that panics is tried again by those who waited for it.
func TestGetPanics(t *testing.T) {
	m := Table[int, int]{Bound: 8}
	began := make(chan bool)
	var all sync.WaitGroup
	all.Go(func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		m.Get(1, func() int { close(began); panic("a mapped file shrank") })
	})
	<-began
	if v := m.Get(1, func() int { return 7 }); v != 7 {
		t.Error("the second try gave", v)
	}
	all.Wait()
}

// TestWeight: a generation of heavy values has few of them.
func TestWeight(t *testing.T) {
	m := Table[int, []byte]{Bound: 100, Weigh: func(b []byte) int { return len(b) }}
	for i := range 50 {
		m.Keep(i, make([]byte, 40))
	}
	if n := m.Entries(); n > 6 {
		t.Errorf("%d values of weight 40 with a bound of 100", n)
	}
	m.Keep(100, make([]byte, 1000))
	if _, ok := m.Find(100); !ok {
		t.Error("a value above the bound is not kept")
	}
}
