//go:build !small

package study

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/pdata"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/seh"
)

// FunctionRanges lists the functions that an image's tables describe, until yield returns false.
func FunctionRanges(img *image.Image, yield func(lo, hi uint64) bool) {
	if (seh.Source{}).Knows(img) {
		pdata.FunctionRanges(img, yield)
		return
	}
	cfi.New().Functions(img, yield)
}
