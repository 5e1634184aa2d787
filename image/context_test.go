//go:build darwin || linux

package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestOpenEndsWithItsContext: also in a format that never asks for it.
func TestOpenEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	endless := Format{Sniff: func([]byte) bool { return true }, Open: func(f *File, _ Options) (*Image, error) {
		for i := 0; f.Data[i] == 0; i = (i + 1) % len(f.Data) {
			cancel()
		}
		return nil, nil
	}}
	if img, err := Open(path, []Format{endless}, Options{Context: ctx}); img != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", img, err)
	}
}
