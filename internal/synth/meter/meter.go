// Package meter measures what reading untrusted input costs. Fuzz tests use it to find short input
// that costs much. Only tests import it.
package meter

import (
	"runtime/metrics"
	"testing"
)

// Floor is how many bytes a reader may allocate for any input, however small, and PerByte how many
// more for each byte of input.
const (
	Floor   = 64 << 20
	PerByte = 1 << 10
)

// Allocations fails the test where fn, which reads n bytes of input, allocates more than Floor and
// PerByte allow. Allocations of other goroutines count, and so does memory that is freed again.
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
