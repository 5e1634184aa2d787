// Package corrupt changes good captures and binaries field by field, knowing their
// formats, and looks at what Backsight makes of them: whatever a file claims, a run ends
// in time, within its memory, with backtraces or with a reason, and no frame is certain
// that the unharmed capture does not have.
//
//	seed ─► fields of one file ─► some changed, cut, compressed ─► run ─► judged
//
// Package lab/mutate damages what a capture is evidence of, the registers and the stack,
// and leaves the formats whole; here it is the other way round.
package corrupt

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"

	"github.com/klauspost/compress/zstd"
)

// Seed is a good capture with the binaries that may be corrupted beside it.
type Seed struct {
	Name string
	// Files are named relative to the folder that a run takes place in. The first is the
	// capture.
	Files []File
	// Links are the binaries that stay as they are, by the names that the capture has.
	Links map[string]string
	// Sysroot has the binaries, where it is not "".
	Sysroot string
}

// File is a file of a seed.
type File struct {
	Name string
	Data []byte
}

// Mutant is a corrupted seed.
type Mutant struct {
	Seed *Seed
	// N makes the mutant again.
	N     uint64
	Files []File
	// What says which part of which file was changed.
	What string
	// Evidence: registers or memory were changed as well, so that another backtrace may
	// be a right one.
	Evidence bool
}

// Corrupt returns mutant number n of the seed, always the same.
func (s *Seed) Corrupt(n uint64) *Mutant {
	h := fnv.New64a()
	h.Write([]byte(s.Name))
	rng := rand.New(rand.NewPCG(n, h.Sum64()))
	m := &Mutant{Seed: s, N: n, Files: append([]File(nil), s.Files...)}
	i := 0
	if rng.IntN(4) > 0 { // of two files, a binary: captures are simple
		i = rng.IntN(len(s.Files))
	}
	f := &m.Files[len(s.Files)-1-i]
	m.What = f.Name
	f.Data = bytes.Clone(f.Data)
	for m.change(f, rng); rng.IntN(2) == 0; {
		m.change(f, rng)
	}
	if f == &m.Files[0] && rng.IntN(8) == 0 {
		m.pack(f, rng)
	}
	return m
}

// change changes one place of a file by its format.
func (m *Mutant) change(f *File, rng *rand.Rand) {
	var what string
	var evidence bool
	switch {
	case rng.IntN(32) == 0:
		f.Data, what = f.Data[:rng.IntN(len(f.Data)+1)], "cut"
	case bytes.HasPrefix(f.Data, []byte("\x7fELF")):
		what, evidence = changeFields(elfGroups(f.Data), f.Data, rng)
	case bytes.HasPrefix(f.Data, []byte("{")):
		f.Data, what, evidence = changeText(f.Data, rng)
	default:
		what = changeBytes(f.Data, rng)
	}
	m.What += ", " + what
	m.Evidence = m.Evidence || evidence
}

// changeBytes knows nothing of a format.
func changeBytes(b []byte, rng *rand.Rand) string {
	if len(b) > 0 {
		b[rng.IntN(len(b))] = byte(rng.Uint32())
	}
	return "bytes"
}

// pack compresses a capture and may damage what comes of that.
func (m *Mutant) pack(f *File, rng *rand.Rand) {
	var out bytes.Buffer
	if rng.IntN(2) == 0 {
		z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level is a valid one
		z.Write(f.Data)
		z.Close()
	} else {
		z, _ := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1)) // the option is a valid one
		z.Write(f.Data)
		z.Close()
	}
	f.Data = out.Bytes()
	m.What += ", packed"
	for range rng.IntN(4) {
		m.Evidence = true // what is inflated may be anything
		m.What += ", damaged"
		if rng.IntN(3) == 0 {
			f.Data = f.Data[:rng.IntN(len(f.Data)+1)]
		}
		changeBytes(f.Data, rng)
	}
}

// order is the byte order of a file.
func order(big bool) binary.ByteOrder {
	if big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
