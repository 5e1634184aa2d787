package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOrder: captures are read side by side, and written in the order in which they were named, those that cannot be read among them.
func TestOrder(t *testing.T) {
	data := filepath.Join("..", "..", "testdata")
	absent, broken := filepath.Join(t.TempDir(), "absent"), filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("\x7fELF"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(t.TempDir(), "large") // nothing is opened ahead of its turn beside it
	if err := errors.Join(os.WriteFile(large, nil, 0o600), os.Truncate(large, mostAhead+1)); err != nil {
		t.Fatal(err)
	}
	core, recording := filepath.Join(data, "mips-deref", "core.gz"), filepath.Join(data, "perf-x86_64", "perf.data")
	var captures []string
	for range 6 {
		captures = append(captures, core, broken, recording, absent, large)
	}
	code, out, said := bs(t, append([]string{"bt", "-f", "jsonl"}, captures...)...)
	if code != exitNone || strings.Count(said, absent) != 1 || strings.Count(said, broken) != 1 || strings.Count(said, large) != 1 {
		t.Errorf("exit code %d, said %q", code, said)
	}
	var got []string
	for line := range strings.Lines(out) {
		var r struct{ Backsight struct{ Capture string } }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Backsight.Capture)
	}
	got = slices.Compact(got) // a recording has several reports
	if !slices.Equal(got, captures) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(captures, "\n"))
	}
}
