package code

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/meter"
	"github.com/backsight/backsight/unwind"
)

// questionCost bounds what the answers for one place of a program of 256 bytes cost, in
// instructions that are decoded: the functions that the search tries, each at the cost of
// its own bound, and the callees of all of them.
const questionCost = 1 << 22

// FuzzAnalyze takes random bytes for the code of every processor and asks for one place:
// answers come to an end, at a bounded cost in instructions and memory, and are rules that
// can be used.
func FuzzAnalyze(f *testing.F) {
	archs := captured.Archs()
	for i, a := range archs {
		for _, name := range []string{"mips-switch", "mips16-switch", "micromips-returns", "thumb-it", "aarch64-switch", "x86_64-switch", "riscv64-switch"} {
			if l := parseFixture(f, "testdata/"+name+".txt"); l.arch.Name == a.Name && l.arch.BigEndian == a.BigEndian {
				for at := range uint8(3) {
					f.Add(uint8(i), uint8(l.mode)|at<<1, 16*at, l.segs[0].Data)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, which, how, at uint8, code []byte) {
		code = code[:min(len(code), 256)]
		img := image.New(image.Header{Path: "program", Arch: archs[int(which)%len(archs)], Segments: []image.Segment{
			{Addr: 0x400000, Size: uint64(len(code)), Data: code, Read: true, Exec: true}}}, nil)
		arch, decoded := synth.Counting(img.Arch)
		img.Arch = arch
		q := exact(img, 0x400000+uint64(at), cpu.Mode(how&1))
		switch how >> 1 & 3 {
		case 1:
			q = resuming(img, q.PC, q.Mode)
		case 2:
			q.Entry, q.HasEntry = 0x400000, true
		}
		meter.Allocations(t, len(code), func() { usable(t, New(nil), q) })
		if n := decoded.Load(); n > questionCost {
			t.Fatalf("%d instructions for the answers at %x", n, q.PC)
		}
	})
}

// usable checks the answers for a query.
func usable(t *testing.T, s *Source, q stackwalk.Query) {
	const most = 200
	for ; q.Try < most; q.Try++ {
		var r stackwalk.Rule
		if s.Rule(&q, &r) != unwind.Found {
			return
		}
		if r.CFA.Kind == stackwalk.Unspecified || r.RA.Kind == stackwalk.Unspecified || int(r.N) > len(r.Regs) {
			t.Fatalf("%x, answer %d: %s", q.PC, q.Try, r.Format(q.Arch))
		}
	}
	t.Fatalf("%x: %d answers", q.PC, most)
}
