//go:build unix

package excerpt_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/backsight/backsight/internal/excerpt"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
)

// TestSourceIsNoPipe: a pipe in the place of a source file is not opened, which would wait for a
// writer; below a sysroot neither.
func TestSourceIsNoPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.c")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	for name, roots := range map[string][]string{"/a.c": {dir}, path: nil} {
		f := &report.Frame{Location: &symbol.Location{File: name, Line: 1}}
		if lines := excerpt.Source(roots, f, 1); len(lines) != 0 {
			t.Errorf("%s: %v", name, lines)
		}
	}
}
