package code

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/unwind"
)

// questionCost bounds what the answers for one place of a program of 256 bytes cost, in
// instructions that are decoded: the functions that the search tries, each at the cost of
// its own bound, and the callees of all of them.
const questionCost = 1 << 22

// FuzzAnalyze takes random bytes for the code of every processor and asks for every fourth
// place: answers come to an end, at a bounded cost, and are rules that can be used.
func FuzzAnalyze(f *testing.F) {
	archs := captured.Archs()
	for i, a := range archs {
		for _, name := range []string{"mips-switch", "mips16-switch", "micromips-returns", "thumb-it", "aarch64-switch", "x86_64-switch", "riscv64-switch"} {
			if l := parseFixture(f, "testdata/"+name+".txt"); l.arch.Name == a.Name && l.arch.BigEndian == a.BigEndian {
				f.Add(uint8(i), uint8(l.mode), l.segs[0].Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which, mode uint8, code []byte) {
		code = code[:min(len(code), 256)]
		img := image.New(image.Header{Path: "program", Arch: archs[int(which)%len(archs)], Segments: []image.Segment{
			{Addr: 0x400000, Size: uint64(len(code)), Data: code, Read: true, Exec: true}}}, nil)
		arch, decoded := synth.Counting(img.Arch)
		img.Arch = arch
		s := New(nil)
		for pc := uint64(0x400000); pc < 0x400000+uint64(len(code)); pc += 4 {
			fromEntry := exact(img, pc, cpu.Mode(mode&1))
			fromEntry.Entry, fromEntry.HasEntry = 0x400000, true
			for _, q := range []unwind.Query{exact(img, pc, cpu.Mode(mode&1)), resuming(img, pc, cpu.Mode(mode&1)), fromEntry} {
				usable(t, s, q)
			}
			if n := decoded.Swap(0); n > questionCost {
				t.Fatalf("%d instructions for the answers at %x", n, pc)
			}
		}
	})
}

// usable checks the answers for a query.
func usable(t *testing.T, s *Source, q unwind.Query) {
	const most = 200
	for ; q.Try < most; q.Try++ {
		var r unwind.Rule
		if s.Rule(&q, &r) != unwind.Found {
			return
		}
		if r.CFA.Kind == unwind.Unspecified || r.RA.Kind == unwind.Unspecified || int(r.N) > len(r.Regs) {
			t.Fatalf("%x, answer %d: %s", q.PC, q.Try, r.Format(q.Arch))
		}
	}
	t.Fatalf("%x: %d answers", q.PC, most)
}
