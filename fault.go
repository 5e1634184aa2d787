package backsight

import (
	"errors"
	"fmt"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/target"
)

// hold keeps the binaries of a snapshot open until release is called: other goroutines may close the program's Files
// meanwhile. The error names a binary that was closed before; there is nothing to release then.
func hold(snap *target.Snapshot) (release func(), err error) {
	if len(snap.Modules) == 0 {
		return func() {}, nil
	}
	held := 0
	release = func() {
		for _, m := range snap.Modules[:held] {
			if m.Image != nil {
				_ = m.Image.Files.Release() // of mappings, which cannot fail
			}
		}
	}
	for ; held < len(snap.Modules); held++ {
		if m := snap.Modules[held]; m.Image != nil {
			if err := m.Image.Files.Hold(); err != nil {
				release()
				return func() {}, fmt.Errorf("%s: %w", m.Image.Path, err)
			}
		}
	}
	return release, nil
}

// guarded runs fn, which reads an image, and tells where that cannot be read any more.
func guarded(img *image.Image, fn func()) error {
	if err := img.Files.Hold(); err != nil {
		return fmt.Errorf("%s: %w", img.Path, err)
	}
	defer img.Files.Release()
	return blame(&target.Snapshot{Modules: []*target.Module{{Image: img}}}, mapped.Guard(fn))
}

// blame finds the image whose file a fault was in, and says so; else it was the capture.
func blame(snap *target.Snapshot, err error) error {
	if err == nil {
		return nil
	}
	var fault *mapped.Fault
	if !errors.As(err, &fault) {
		return err
	}
	for _, m := range snap.Modules {
		if m.Image != nil && m.Image.Files.Blame(fault) {
			return m.Image.Files.Err()
		}
	}
	return fmt.Errorf("the capture cannot be read any more: %w", err)
}

// unread is the issue of a file that cannot be read any more.
func unread(err error) []target.Issue {
	if err == nil {
		return nil
	}
	return []target.Issue{{Kind: target.IssueImage, Text: err.Error()}}
}
