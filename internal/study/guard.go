package study

import (
	"errors"
	"fmt"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/target"
)

// Guarded runs fn, which reads an image, and tells where that cannot be read any more.
func Guarded(img *image.Image, fn func()) error {
	if err := img.Files.Hold(); err != nil {
		return fmt.Errorf("%s: %w", img.Path, err)
	}
	defer img.Files.Release()
	return Blame(&target.Snapshot{Modules: []*target.Module{{Image: img}}}, mapped.Guard(fn))
}

// Blame finds the image whose file a fault was in, and says so; else it was the capture.
func Blame(snap *target.Snapshot, err error) error {
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
