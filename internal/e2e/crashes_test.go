package e2e_test

import (
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/lab/livecore"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
)

// TestCrashKinds: ten ways to crash, each a real core file of this machine: the reason is
// told by its kind, and the chain is whole. docs/crashes.md shows what is said of them.
func TestCrashKinds(t *testing.T) {
	for _, k := range livecore.Kinds() {
		for _, stripped := range []string{"", "-s"} {
			t.Run(k.Name+stripped, func(t *testing.T) {
				t.Parallel()
				flags := append([]string{"-O1", "-g"}, k.Flags...)
				if stripped != "" {
					flags = append(flags, stripped)
				}
				core := livecore.Crash(t, livecore.Compile(t, "gcc", k.Source(), flags...))
				r := reportOf(t, core)
				if r.Crash == nil || r.Crash.Kind != k.Code || len(r.Crash.Reasons) == 0 {
					t.Fatalf("%+v, want %s", r.Crash, k.Code)
				}
				if k.Code == report.CrashSmashedReturn {
					if o := r.Threads[0].Overwritten; o == nil || o.Text != "AAAAAAAA" {
						t.Errorf("overwritten: %+v", o)
					}
					return
				}
				if chain := chainOf(&r.Threads[0]); stripped == "" && !strings.Contains(chain, "work outer main") || r.Threads[0].Stop.Reason.String() != "root" {
					t.Errorf("%s, stop: %s", chain, r.Threads[0].Stop.Reason)
				}
			})
		}
	}
}

// chainOf names the frames, a recursion once.
func chainOf(th *report.Thread) string {
	var names []string
	for i := range th.Frames {
		if f := th.Frames[i].Function; len(names) == 0 || names[len(names)-1] != f {
			names = append(names, f)
		}
	}
	return strings.Join(names, " ")
}

// reportOf is what there is to say of a core file's first snapshot.
func reportOf(t *testing.T, core string) *report.Report {
	t.Helper()
	files := backsight.NewFiles(input.FileOptions{})
	t.Cleanup(func() { files.Close() })
	capture, err := backsight.Open(t.Context(), core, input.Env{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { capture.Close() })
	snap, err := capture.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, err := backsight.NewUnwinder(backsight.Options{MaxFrames: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	traces, err := u.Backtraces(t.Context(), snap)
	if err != nil {
		t.Fatal(err)
	}
	return backsight.Report(t.Context(), snap, traces, &symbol.Symbolizer{})
}
