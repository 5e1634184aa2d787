//go:build unix

package input

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOpenDoesNotWaitForAPipe: opening a FIFO would wait for a writer for ever.
func TestOpenDoesNotWaitForAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := env().Open(context.Background(), path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
}
