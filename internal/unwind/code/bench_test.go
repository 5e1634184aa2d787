package code

import (
	"slices"
	"testing"
	"time"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/unwind"
)

// naked is a program without symbols and tables, and places in it where frames of
// recorded chains stand.
func naked(b *testing.B, arch string) (*image.Image, []unwind.Query) {
	rec := recorded.Cases(b, arch+"/*-O2*")
	cases := captured.Corpus(b, &rec[len(rec)-1], "naked")
	img := cases[0].Snapshot.Modules[0].Image
	seen := map[uint64]bool{}
	var places []unwind.Query
	for i := range cases {
		c := &cases[i]
		_, mode, _ := img.Arch.PCOf(&c.Snapshot.Threads[0].Regs)
		for k := range c.Frames {
			pc := uint64(c.Frames[k].PC)
			if seen[pc] || img.Code(pc) == nil || k > 0 && img.Arch.ISABit && mode != 0 {
				continue
			}
			seen[pc] = true
			q := unwind.Query{Image: img, Arch: img.Arch, PC: pc, Resume: pc, Mode: mode, Exact: k == 0}
			if !q.Exact {
				q.PC--
			}
			places = append(places, q)
		}
	}
	return img, places
}

// BenchmarkFirstFrame is the cost of the first frame in a function that was never
// met, over the places of real chains; the pass over the whole image was done
// before. Functions are forgotten after each question. The median is that of a
// function of ordinary size.
func BenchmarkFirstFrame(b *testing.B) {
	for _, arch := range []string{"mips", "mips64el", "aarch64", "riscv64", "x86_64"} {
		b.Run(arch, func(b *testing.B) {
			img, places := naked(b, arch)
			s := New(nil)
			an := s.of(img)
			var r unwind.Rule
			for i := range places {
				s.Rule(&places[i], &r)
			}
			costs := make([]time.Duration, 0, b.N)
			b.ResetTimer()
			for i := range b.N {
				clear(an.functions)
				clear(an.older)
				clear(an.summaries)
				clear(an.callees)
				clear(an.exitCache)
				begin := time.Now()
				s.Rule(&places[i%len(places)], &r)
				costs = append(costs, time.Since(begin))
			}
			slices.Sort(costs)
			b.ReportMetric(float64(costs[len(costs)/2].Microseconds()), "µs-median")
			b.ReportMetric(float64(costs[len(costs)*9/10].Microseconds()), "µs-p90")
		})
	}
}

// BenchmarkKnownFrame is the same in functions that were met before.
func BenchmarkKnownFrame(b *testing.B) {
	img, places := naked(b, "mips")
	s := New(nil)
	s.of(img)
	var r unwind.Rule
	for i := range b.N {
		s.Rule(&places[i%len(places)], &r)
	}
}

// BenchmarkCallTargets is the linear pass over the text that finds the targets of
// direct calls; BenchmarkEntries is all that is done to know the functions of an
// image that tells none, on CPUs with two instruction sets by following the flow.
// Both count bytes of text.
func BenchmarkCallTargets(b *testing.B) {
	overText(b, func(img *image.Image) {
		c := collector{an: New(nil).of(image.New(img.Header, nil))}
		c.scanCalls()
	})
}

// BenchmarkEntries: see BenchmarkCallTargets.
func BenchmarkEntries(b *testing.B) {
	overText(b, func(img *image.Image) { New(nil).of(image.New(img.Header, nil)).strongEntries() })
}

func overText(b *testing.B, pass func(img *image.Image)) {
	for _, arch := range []string{"mips", "mips64el", "aarch64", "riscv64", "x86_64", "armarm"} {
		b.Run(arch, func(b *testing.B) {
			img, _ := naked(b, arch)
			size := 0
			for i := range img.Segments {
				if s := &img.Segments[i]; s.Exec {
					size += len(s.Data)
				}
			}
			b.SetBytes(int64(size))
			b.ResetTimer()
			for range b.N {
				pass(img)
			}
		})
	}
}
