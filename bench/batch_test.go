package bench_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/render"
)

// BenchmarkBatch is what one core does with a stream of snapshots: read, unwind,
// write a line of JSON, with the binary's tables and without any.
func BenchmarkBatch(b *testing.B) {
	for _, arch := range []string{"mips", "x86_64", "aarch64", "armt2"} {
		for _, tier := range []string{"stripped", "naked"} {
			b.Run(arch+"/"+tier, func(b *testing.B) { batch(b, recorded.Shared(b, "truth/public", arch, "pub-gcc-O2"), tier+".elf") })
		}
	}
}

func batch(b *testing.B, dir, elf string) {
	files := backsight.NewFiles(input.FileOptions{Images: []input.NamedImage{{Path: filepath.Join(dir, elf)}}})
	defer files.Close()
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	all := func() {
		n = 0
		s, err := backsight.Open(b.Context(), filepath.Join(dir, "snaps.jsonl.gz"), input.Env{Files: files})
		if err != nil {
			b.Skip(err)
		}
		defer s.Close()
		var line []byte
		for {
			snap, err := s.Next(b.Context())
			if err == io.EOF {
				return
			}
			if err != nil {
				b.Fatal(err)
			}
			traces, err := u.Backtraces(b.Context(), snap)
			if err != nil {
				b.Fatal(err)
			}
			line = render.AppendJSONLine(line[:0], backsight.Report(b.Context(), snap, traces, nil), render.Style{})
			n++
		}
	}
	all()
	now, release := threadTime()
	defer release()
	start := now()
	for b.Loop() {
		all()
	}
	b.ReportMetric(float64(b.N*n)/(now()-start).Seconds(), "snapshots/s")
}
