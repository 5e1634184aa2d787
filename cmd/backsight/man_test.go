//go:build !small

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestManual: each command that help lists has a page with all its flags, and man's formatter has
// nothing to complain of.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	if code, out, talk := bs(t, "man", dir); code != exitOK || out != "" || talk != "" {
		t.Fatalf("exit code %d, %q, %q", code, out, talk)
	}
	for _, want := range []string{"backsight.1", "backsight-bt.1", "backsight-explain.1", "backsight-table.1", "backsight-export.1", "backsight-watch.1", "backsight-annotate.1", "backsight-addr.1"} {
		if _, err := os.Stat(filepath.Join(dir, want)); err != nil {
			t.Error(err)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "backsight-table.1"))
	for _, want := range []string{".SH NAME\nbacksight\\-table \\- ", `\fB\-f, \-\-format\fR \fI`, `\fB\-o, \-\-output\fR`, ".BR backsight (1)"} {
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("backsight-table.1 lacks %q: %v", want, err)
		}
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("there is no groff")
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "*.1"))
	if out, err := exec.Command("groff", append([]string{"-man", "-Tutf8", "-ww", "-z"}, pages...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestVerbatim: no line of a text is taken for a request.
func TestVerbatim(t *testing.T) {
	if got, want := verbatim("a-b\n\n.so x\n  'c\\d"), "a\\-b\n.PP\n\\&.so x\n.br\n  'c\\ed\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
