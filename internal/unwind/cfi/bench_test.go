package cfi_test

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/unwind"
)

// sample returns an image and PCs in many of its functions, in no helpful order.
func sample(t testing.TB) (*image.Image, []uint64) {
	for _, path := range []string{
		"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/lib/x86_64-linux-gnu/libc.so.6",
		recorded.Testdata(t, "x86_64-threads/modules/usr/lib/libc.so.6"),
	} {
		img, err := elf.Open(path, image.Options{Archs: captured.Archs(), NoDebugFiles: true})
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = img.Close() })
		return img, places(img)
	}
	t.Fatal("no library to look at")
	return nil, nil
}

// places are about 4096 addresses, each near the middle of a function.
func places(img *image.Image) []uint64 {
	var all []uint64
	cfi.New().FunctionRanges(img, func(lo, hi uint64) bool {
		all = append(all, lo+(hi-lo)/2)
		return true
	})
	const stride = 7919 // a prime: neighbours in the list are far apart
	var pcs []uint64
	for i := range min(4096, len(all)) {
		pcs = append(pcs, all[i*stride%len(all)])
	}
	return pcs
}

// TestRuleDoesNotAllocate: after the first question, which finds the sections.
func TestRuleDoesNotAllocate(t *testing.T) {
	img, pcs := sample(t)
	src := cfi.New()
	var rule stackwalk.Rule
	i := 0
	n := testing.AllocsPerRun(1000, func() {
		q := stackwalk.Query{Image: img, Arch: img.Arch, PC: pcs[i%len(pcs)]}
		if v := src.Rule(&q, &rule); v != unwind.Found {
			t.Fatalf("pc %#x: %v", q.PC, v)
		}
		i++
	})
	if n != 0 {
		t.Errorf("%v allocations per question", n)
	}
}

func BenchmarkRule(b *testing.B) {
	img, pcs := sample(b)
	src := cfi.New()
	var rule stackwalk.Rule
	q := stackwalk.Query{Image: img, Arch: img.Arch, PC: pcs[0]}
	src.Rule(&q, &rule)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.PC = pcs[i%len(pcs)]
		src.Rule(&q, &rule)
	}
}

// BenchmarkIndex is the first question of a file without .eh_frame_hdr.
func BenchmarkIndex(b *testing.B) {
	img, pcs := sample(b)
	h := img.Header
	h.Tables = nil
	eh, _ := img.Sections.Named(".eh_frame")
	only := sections{list: []image.Section{eh}}
	src := cfi.New()
	var rule stackwalk.Rule
	for b.Loop() {
		fresh := image.New(h, only)
		src.Rule(&stackwalk.Query{Image: fresh, Arch: h.Arch, PC: pcs[0]}, &rule)
	}
	b.ReportMetric(float64(len(pcs)), "functions-sampled")
}
