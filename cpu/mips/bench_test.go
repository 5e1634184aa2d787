package mips

import (
	"debug/elf"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/cpu"
)

// text is the code of a recorded program, or random words.
func text(b testing.TB, dir string) []byte {
	b.Helper()
	f, err := elf.Open(filepath.Join(truth, "public", dir, "pub-gcc-O2", "naked.elf"))
	if err == nil {
		defer f.Close()
		if data, err := f.Section(".text").Data(); err == nil {
			return data
		}
	}
	data := make([]byte, 1<<20)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func BenchmarkCalls(b *testing.B) {
	for _, dir := range []string{"mips", "mipsel", "mipsr6"} {
		v := plain
		if dir == "mipsr6" {
			v = release6
		}
		d := archOf(b, "o32", dir != "mipsel", v).Decoder
		code := text(b, dir)
		b.Run(dir, func(b *testing.B) {
			var refs []cpu.CallRef
			b.SetBytes(int64(len(code)))
			for b.Loop() {
				refs = d.Calls(code, 0x400000, 0, refs[:0])
			}
		})
	}
}

// TestNoAllocation holds the decoder to the hot-path rule.
func TestNoAllocation(t *testing.T) {
	code := text(t, "mips16")[:4096]
	for _, a := range Archs() {
		for mode := cpu.Mode(0); mode <= 1; mode++ {
			d := a.Decoder
			var out [64]cpu.Insn
			allocs := testing.AllocsPerRun(10, func() {
				d.Decode(code, 0, mode, out[:])
				d.CallBefore(code[:256], 0x1000, mode)
			})
			if allocs != 0 {
				t.Errorf("%s %s mode %d: %v allocations", a.Name, a.ABI, mode, allocs)
			}
		}
	}
}
