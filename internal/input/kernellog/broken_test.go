package kernellog

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
)

// TestBrokenToReads counts the lines that are read, each of which takes some allocations, to tell into which width a log's lines were
// broken: where one line alone has no prefix, as a line that was cut, no other but that and the one in front; where several have none,
// those in front of them, and all others up to the first that is too wide.
func TestBrokenToReads(t *testing.T) {
	const lines = 10_000
	line := "[    1.000000] " + strings.Repeat("word ", 20) + "\n"
	wide := "[    1.000000] " + strings.Repeat("word ", 60) + "\n"
	for _, c := range []struct {
		name, text string
		most       float64
	}{
		{"the last line is cut", strings.Repeat(line, lines) + "cut", 4},
		{"two lines are cut, and one is wide", wide + strings.Repeat(line, lines) + "cut\n" + line + "cut", 10},
	} {
		reader := Reader()
		reader.Scan = func(log *console.Log, _ *input.Env) {
			if n := testing.AllocsPerRun(1, func() { brokenTo(log) }); n > 5*c.most {
				t.Errorf("%s: %v allocations", c.name, n)
			}
		}
		console.Format(reader).Reports(t.Context(), []byte(c.text), &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{})})
	}
}
