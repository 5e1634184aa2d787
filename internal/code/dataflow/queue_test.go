package dataflow

import (
	"math/rand/v2"
	"testing"

	"github.com/backsight/backsight/internal/code/absint"
)

// TestQueue: the most believable block comes first, of several the one at the lowest place,
// and the last block takes the place of the one that was taken.
func TestQueue(t *testing.T) {
	var q queue
	var list []*block
	rng := rand.New(rand.NewPCG(1, 2))
	for step := range 10_000 {
		switch b := new(block); {
		case step%3 != 2:
			b.via = edge(rng.IntN(int(edges)))
			q.add(b)
			q.add(b)
			list = append(list, b)
		case step%2 == 0:
			b = list[rng.IntN(len(list))]
			q.comes(b, min(b.via, edge(rng.IntN(int(edges)))))
		default:
			best := 0
			for i, b := range list {
				if b.via < list[best].via {
					best = i
				}
			}
			if got := q.take(); got != list[best] || got.place != 0 {
				t.Fatalf("step %d: another block than number %d", step, best)
			}
			list[best] = list[len(list)-1]
			list = list[:len(list)-1]
		}
	}
	if q.reset(); q.take() != nil {
		t.Error("an empty queue has a block")
	}
}

// TestStatesOnce: equal states are kept once, and what is kept for comparison is bounded.
func TestStatesOnce(t *testing.T) {
	e := new(absint.State)
	e.Start(mips(t, 1, func(int) uint32 { return 0 }).Arch)
	var s states
	a, b := s.keep(e), s.keep(e)
	if a != b || s.bytes != len(a) {
		t.Errorf("two equal states take %d bytes, one %d", s.bytes, len(a))
	}
	for i := range int64(100_000) {
		e.Limit = i
		s.keep(e)
		if s.bytes > 2*maxKnown {
			t.Fatal("states take ", s.bytes, " bytes")
		}
	}
}
