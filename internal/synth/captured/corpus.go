package captured

import (
	"context"
	"io"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/input/snapshot"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
)

// Case is one recorded capture with its true call chain.
type Case struct {
	truth.Answer
	Snapshot *target.Snapshot
}

// Corpus are the captures of a recorded case, of its program in a tier (sym, stripped,
// naked); none where the case lacks the tier.
func Corpus(t testing.TB, c *truth.Case, tier string) []Case {
	t.Helper()
	program, ok := recorded.Program(t, c, tier)
	if !ok {
		return nil
	}
	answers, err := c.Answers()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, c.Snapshots(), snapshot.Format(), input.FileOptions{Images: []input.NamedImage{{Path: program}}})
	cases := make([]Case, len(answers))
	for i := range answers {
		snap, err := s.Next(t.Context())
		if err != nil {
			t.Fatalf("%s, capture %d: %v", c.Name, i+1, err)
		}
		cases[i] = Case{answers[i], snap}
	}
	if _, err := s.Next(t.Context()); err != io.EOF {
		t.Errorf("%s: captures without an answer: %v", c.Name, err)
	}
	return cases
}

// open opens a capture with the binaries that opt describes; both are closed when
// the test ends.
func open(t testing.TB, path string, format input.Format, opt input.FileOptions) input.Stream {
	t.Helper()
	opt.Archs, opt.Formats = Archs(), []image.Format{elf.Format()}
	files := input.NewFiles(opt)
	t.Cleanup(func() { files.Close() })
	s, err := (&input.Env{Archs: opt.Archs, Formats: []input.Format{format}, Files: files}).Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
