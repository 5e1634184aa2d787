package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestTwoThreadsOnOneStack: of a core whose first thread is listed twice, as if a second
// one ran on its stack, no frame of these two is certain but the innermost, and an issue
// says why; the other threads are as sure as before.
func TestTwoThreadsOnOneStack(t *testing.T) {
	files := backsight.NewFiles(input.FileOptions{Sysroots: []string{"../../testdata/x86_64-threads/modules"}})
	defer files.Close()
	stream, err := backsight.Open(t.Context(), "../../testdata/x86_64-threads/core.gz", input.Env{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	snap, err := stream.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	certain := func() (counts []int, issues int) {
		traces, err := u.Backtraces(t.Context(), snap)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range traces {
			n := 0
			for _, f := range b.Frames[1:] {
				if f.Trust == unwind.Certain {
					n++
				}
			}
			counts = append(counts, n)
		}
		for _, issue := range backsight.Report(t.Context(), snap, traces, nil).Issues {
			if issue.Kind == target.IssueThreads && strings.Contains(issue.Text, "cannot both be right") {
				issues++
			}
		}
		return counts, issues
	}
	before, issues := certain()
	if before[0] == 0 || issues != 0 {
		t.Fatalf("certain frames %v, %d issues", before, issues)
	}
	twin := snap.Threads[0]
	twin.ID = 9999
	snap.Threads = append(slices.Clone(snap.Threads), twin)
	after, issues := certain()
	if want := append(append([]int{0}, before[1:]...), 0); !slices.Equal(after, want) || issues != 2 {
		t.Errorf("certain frames %v, want %v; %d issues", after, want, issues)
	}
}
