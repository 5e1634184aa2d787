package sha256_test

import (
	"bytes"
	stdlib "crypto/sha256"
	"testing"

	"github.com/backsight/backsight/internal/sha256"
)

// TestStandard: the digests are the standard library's, of every length around the ends of blocks, in one piece and in pieces.
func TestStandard(t *testing.T) {
	data := make([]byte, 300)
	for i := range data {
		data[i] = byte(i * i)
	}
	for n := range data {
		want := stdlib.Sum256(data[:n])
		if got := sha256.Sum256(data[:n]); got != want {
			t.Fatalf("%d bytes: %x, want %x", n, got, want)
		}
		h := sha256.New()
		for at := 0; at < n; at += 7 {
			h.Write(data[at:min(at+7, n)])
			h.Sum(nil) // does not end the hash
		}
		if got := h.Sum([]byte("digest: ")); !bytes.Equal(got, append([]byte("digest: "), want[:]...)) {
			t.Fatalf("%d bytes in pieces: %x, want %x", n, got, want)
		}
	}
}

func BenchmarkBlock(b *testing.B) {
	data := make([]byte, 1<<20)
	b.SetBytes(1 << 20)
	for b.Loop() {
		sha256.Sum256(data)
	}
}
