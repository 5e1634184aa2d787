package mips

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// sample is the number of random instructions to test: n, or many in the long
// run.
func sample(n int) int {
	if long() {
		return 10 * n
	}
	return n
}

// TestRandomWords compares with objdump over random words of every opcode.
func TestRandomWords(t *testing.T) {
	for _, c := range []struct {
		machine, abi string
		v            variant
	}{
		{"mips:isa64r2", "n64", plain},
		{"mips:isa32r5", "o32", plain},
		{"mips:isa64r6", "n64", release6},
		{"mips:octeon3", "n64", plain},
		{"mips:gs464e", "n64", loongson},
	} {
		t.Run(c.machine, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "words")
			if err := os.WriteFile(path, randomWords(sample(30_000)), 0o600); err != nil {
				t.Fatal(err)
			}
			lines := objdump(t, true, "-D", "-b", "binary", "-m", c.machine, "-EB", path)
			check(t, archOf(t, c.abi, true, c.v), inWords, lines)
		})
	}
}

// randomWords favours the opcodes with many functions, and small fields.
func randomWords(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	code := make([]byte, 4*n)
	for i := 0; i < n; i++ {
		w := r.Uint32()
		if i%2 == 0 {
			op := [...]uint32{0, 0, 1, 0x10, 0x11, 0x12, 0x1c, 0x1e, 0x1f, 0x1f, 0x3b, 0x32, 0x36, 0x3a, 0x3e}[r.IntN(15)]
			w = w&0x03ff_ffff | op<<26
		}
		switch i % 3 {
		case 0:
			w &^= 31 << (5 * r.Uint32N(6))
			w &^= 31 << (5*r.Uint32N(5) + 1)
		case 1:
			w &^= 0x7c0
		}
		binary.BigEndian.PutUint32(code[4*i:], w)
	}
	return code
}
