package intake_test

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/backsight/backsight/service/intake"
)

// BenchmarkUpload: bodies of 200 kB, from several senders at once.
func BenchmarkUpload(b *testing.B) {
	s := newBench(b)
	s.intake.Spools = intake.NewSpools(b.TempDir(), 128<<20, 20<<20, 100<<20)
	body := make([]byte, 200<<10)
	if _, err := rand.Read(body); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		own := bytes.Clone(body)
		if _, err := rand.Read(own[:8]); err != nil {
			b.Error(err)
		}
		for n := uint64(0); pb.Next(); n++ {
			binary.LittleEndian.PutUint64(own[8:], n)
			if status, answer := s.send(b, "POST", "/api/v1/captures?key=good&device="+fmt.Sprint(n), own); status != 201 {
				b.Error(status, answer)
			}
		}
	})
}
