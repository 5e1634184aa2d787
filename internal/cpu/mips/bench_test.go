package mips

import (
	"debug/elf"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/recorded"
)

// text is the code of the last recorded program of an architecture: the largest, where
// more are at hand than testdata has.
func text(b testing.TB, arch string) []byte {
	b.Helper()
	cases := recorded.Cases(b, arch+"/*")
	path, ok := recorded.Program(b, &cases[len(cases)-1], "naked")
	if !ok {
		b.Fatal("no naked program for ", arch)
	}
	f, err := elf.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	data, err := f.Section(".text").Data()
	if err != nil {
		b.Fatal(err)
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
