// Package meter measures what reading untrusted input costs: the oracle of fuzz tests
// that look for input of a few bytes that costs much. Only tests import it.
package meter

import (
	"runtime/metrics"
	"testing"
)

// Floor is what a reader may allocate for any input, however small, in bytes, and
// PerByte what it may for each byte: less than what would be noticed.
const (
	Floor   = 64 << 20
	PerByte = 1 << 10
)

// Allocations fails the test where fn allocates more for n bytes of input. It counts
// what the whole program allocates meanwhile, and what is freed again too.
func Allocations(t testing.TB, n int, fn func()) {
	t.Helper()
	before := allocated()
	fn()
	if got, most := allocated()-before, Floor+PerByte*uint64(n); got > most {
		t.Errorf("%d bytes were allocated for an input of %d, more than %d", got, n, most)
	}
}

// allocated is how many bytes the program has allocated since it began.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
