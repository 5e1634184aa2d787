package bench_test

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
)

// libraries are the stacks of testdata/libraries: a program with five shared libraries, with its unwind tables
// (stripped) and without any (naked).
var libraries = []string{"x86_64/stripped", "x86_64/naked", "aarch64/stripped", "aarch64/naked"}

// recordedStacks reads stacks of testdata/libraries by their name.
func recordedStacks(t testing.TB, name string) *stacks {
	t.Helper()
	arch, tier := filepath.Split(name)
	c := truth.Case{Dir: recorded.Testdata(t, "libraries", arch, "compiler-gcc-O2")}
	answers, err := c.Answers()
	if err != nil {
		t.Fatal(err)
	}
	s := &stacks{snaps: snapshotsOf(t, &c, tier)}
	if len(s.snaps) != len(answers) {
		t.Fatalf("%s: %d stacks, %d answers", name, len(s.snaps), len(answers))
	}
	for _, a := range answers {
		var pcs []uint64
		for _, f := range a.Frames {
			pcs = append(pcs, uint64(f.PC))
		}
		s.want = append(s.want, pcs)
	}
	return s
}

// snapshotsOf reads the captures of a case with the images of a tier; none where the case lacks the tier. The images are
// opened anew each time, so that nothing is known of them.
func snapshotsOf(t testing.TB, c *truth.Case, tier string) (snaps []*target.Snapshot) {
	t.Helper()
	images, cleanup, err := c.Images(tier)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cleanup)
	if len(images) == 0 {
		return nil
	}
	var named []input.NamedImage
	for _, i := range images {
		named = append(named, input.NamedImage{Path: i.Path, Bias: i.Bias, Placed: len(images) > 1})
	}
	files := backsight.NewFiles(input.FileOptions{Images: named})
	t.Cleanup(func() { _ = files.Close() })
	stream, err := backsight.Open(t.Context(), c.Snapshots(), input.Env{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		snap, err := stream.Next(t.Context())
		if err == io.EOF {
			return snaps
		}
		if err != nil {
			t.Fatalf("%s: stack %d: %v", c.Dir, len(snaps), err)
		}
		snaps = append(snaps, snap)
	}
}
