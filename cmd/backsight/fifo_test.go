//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFIFO: a named pipe without a writer does not hang the program.
func TestFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	for _, args := range [][]string{{"bt", path}, {"bt", "-e", path, "-"}, {"explain", path, "0"}} {
		if code, _, says := bs(t, args...); code != exitNone || !strings.Contains(says, "regular file") {
			t.Errorf("%v: exit code %d, said %q", args, code, says)
		}
	}
}
