package bench_test

import (
	"os"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/symbol"
)

// BenchmarkCore is the whole work on a core file, from opening it and its binaries
// to the text: of the one that BACKSIGHT_CORE names. bench/peers-llvm.sh makes one.
func BenchmarkCore(b *testing.B) {
	core := os.Getenv("BACKSIGHT_CORE")
	if core == "" {
		b.Skip("BACKSIGHT_CORE names no core file")
	}
	for _, c := range []struct {
		name      string
		names     backsight.Symbolizer
		debugDirs []string
	}{
		{"no-symbols", nil, nil},
		{"symbols", &symbol.Symbolizer{}, nil},
		{"debug-files", &symbol.Symbolizer{}, []string{"/usr/lib/debug"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			now, release := threadTime()
			defer release()
			start := now()
			for b.Loop() {
				files := backsight.NewFiles(input.FileOptions{DebugDirs: c.debugDirs})
				s, err := backsight.Open(b.Context(), core, input.Env{Files: files})
				if err != nil {
					b.Fatal(err)
				}
				snap, err := s.Next(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				u, _ := backsight.NewUnwinder(backsight.Options{})
				traces, _ := u.Backtraces(b.Context(), snap)
				render.AppendText(nil, backsight.Report(b.Context(), snap, traces, c.names), render.Style{})
				s.Close()
				files.Close()
			}
			b.ReportMetric(float64((now()-start).Milliseconds())/float64(b.N), "CPU-ms/op")
		})
	}
}
