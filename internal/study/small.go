//go:build small

package study

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/unwind/cfi"
)

// FunctionRanges lists the functions that an image's tables describe, until yield returns false.
func FunctionRanges(img *image.Image, yield func(lo, hi uint64) bool) {
	cfi.New().Functions(img, yield)
}
