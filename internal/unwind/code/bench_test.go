package code

import (
	"slices"
	"testing"
	"time"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
)

// naked is a program without symbols and tables, and places in it where frames of recorded
// chains stand.
func naked(b *testing.B, arch string) (*image.Image, []stackwalk.Query) {
	rec := recorded.Cases(b, arch+"/*-O2*")
	cases := captured.Corpus(b, &rec[len(rec)-1], "naked")
	img := cases[0].Snapshot.Modules[0].Image
	seen := map[uint64]bool{}
	var places []stackwalk.Query
	for i := range cases {
		c := &cases[i]
		_, mode, _ := img.Arch.PCOf(&c.Snapshot.Threads[0].Regs)
		for k := range c.Frames {
			pc := uint64(c.Frames[k].PC)
			switch {
			case seen[pc] || img.Segments.Code(pc) == nil || k > 0 && img.Arch.ISABit && mode != 0:
				continue
			case k == 0:
				places = append(places, exact(img, pc, mode))
			default:
				places = append(places, resuming(img, pc, mode))
			}
			seen[pc] = true
		}
	}
	return img, places
}

// forgetful is a program of which nothing but the functions' beginnings is known.
func forgetful(c disasm.Code, entries *discover.Entries) *program {
	return newProgram(analyses.New(c, entries))
}

// BenchmarkFirstFrame is the cost of the first frame in a function that was never met, over
// the places of real chains; the pass over the whole image was done before. The median is
// that of a function of ordinary size. "search" asks for the second answer, which stack
// heights do not have.
func BenchmarkFirstFrame(b *testing.B) {
	for _, arch := range []string{"mips", "mips64el", "aarch64", "riscv64", "x86_64"} {
		img, places := naked(b, arch)
		code := disasm.Of(img)
		entries := discover.New(code, nil)
		entries.Starts()
		for try, name := range []string{"heights", "search"} {
			b.Run(arch+"/"+name, func(b *testing.B) {
				costs := make([]time.Duration, 0, b.N)
				for i := range b.N {
					p, q := forgetful(code, entries), places[i%len(places)]
					q.Try = try
					begin := time.Now()
					p.answer(&q)
					costs = append(costs, time.Since(begin))
				}
				slices.Sort(costs)
				b.ReportMetric(float64(costs[len(costs)/2].Nanoseconds())/1000, "µs-median")
				b.ReportMetric(float64(costs[len(costs)*9/10].Nanoseconds())/1000, "µs-p90")
			})
		}
	}
}

// BenchmarkKnownFrame is the same at places that were asked for before.
func BenchmarkKnownFrame(b *testing.B) {
	_, places := naked(b, "mips")
	s := New(nil)
	var r stackwalk.Rule
	for i := range places {
		s.Rule(&places[i], &r)
	}
	for i := 0; b.Loop(); i++ {
		s.Rule(&places[i%len(places)], &r)
	}
}

// BenchmarkEntries is all that is done to know the functions of an image that tells none, on
// CPUs with two instruction sets by following the flow. BenchmarkCallTargets is the part
// that finds the targets of direct calls in one pass. Both count bytes of text.
func BenchmarkEntries(b *testing.B) {
	overText(b, func(c disasm.Code) { discover.New(c, nil).Certain() })
}

func BenchmarkCallTargets(b *testing.B) {
	overText(b, func(c disasm.Code) {
		c.Text(func(addr uint64, text []byte) { c.Arch.Decoder.Calls(text, addr, 0, nil) })
	})
}

func overText(b *testing.B, pass func(c disasm.Code)) {
	for _, arch := range []string{"mips", "mips64el", "aarch64", "riscv64", "x86_64", "armarm"} {
		b.Run(arch, func(b *testing.B) {
			img, _ := naked(b, arch)
			c, size := disasm.Of(image.New(img.Header, nil)), 0
			c.Text(func(_ uint64, text []byte) { size += len(text) })
			b.SetBytes(int64(size))
			for b.Loop() {
				pass(c)
			}
		})
	}
}

// BenchmarkRows is the table of a whole image, by bytes of text.
func BenchmarkRows(b *testing.B) {
	overText(b, func(c disasm.Code) {
		p := forgetful(c, discover.New(c, nil))
		for _, chunk := range newLister(p, nil).chunks() {
			<-chunk
		}
	})
}
