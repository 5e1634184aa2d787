package bench_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/lab/truth"
)

// libraries are the stacks of testdata/libraries: a program with five shared libraries, with its unwind tables
// (stripped) and without any (naked).
var libraries = []string{"x86_64/stripped", "x86_64/naked", "aarch64/stripped", "aarch64/naked"}

// recordedStacks reads stacks of testdata/libraries by their name. The images are opened anew each time, so that
// nothing is known of them.
func recordedStacks(t testing.TB, name string) *stacks {
	t.Helper()
	arch, tier := filepath.Split(name)
	c := truth.Case{Dir: recorded.Testdata(t, "libraries", arch, "compiler-gcc-O2")}
	images, cleanup, err := c.Images(tier)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cleanup)
	answers, err := c.Answers()
	if err != nil {
		t.Fatal(err)
	}
	var named []input.NamedImage
	for _, i := range images {
		named = append(named, input.NamedImage{Path: i.Path, Bias: i.Bias, Placed: true})
	}
	files := backsight.NewFiles(input.FileOptions{Images: named})
	t.Cleanup(func() { _ = files.Close() })
	stream, err := backsight.Open(t.Context(), c.Snapshots(), input.Env{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	s := new(stacks)
	for _, a := range answers {
		snap, err := stream.Next(t.Context())
		if err != nil {
			t.Fatalf("%s: stack %d of %d: %v", name, len(s.snaps), len(answers), err)
		}
		var pcs []uint64
		for _, f := range a.Frames {
			pcs = append(pcs, uint64(f.PC))
		}
		s.snaps, s.want = append(s.snaps, snap), append(s.want, pcs)
	}
	if _, err := stream.Next(t.Context()); err != io.EOF {
		t.Fatalf("%s: stacks without an answer: %v", name, err)
	}
	return s
}
