// Package analyses holds together what the analyses of internal/code know of one image. Whoever asks
// for an image's analyses gets the same ones.
package analyses

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/callee"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/code/heights"
)

// Image is an image's code with its analyses. They grow on demand, any goroutine may use them, and
// no lock is held while an analysis runs.
type Image struct {
	disasm.Code
	Entries *discover.Entries
	Callees *callee.Effects
	Heights *heights.Tables
	Flows   *dataflow.Analysis
}

type key struct{}

// Of returns the analyses of an image, which are kept with the image. tables may be nil. The first caller's count.
func Of(img *image.Image, tables *discover.Tables) *Image {
	return img.Memo(key{}, func() any {
		c := disasm.Of(img)
		return New(c, discover.New(c, tables))
	}).(*Image)
}

// New returns new analyses of code whose functions begin at the entries.
func New(c disasm.Code, entries *discover.Entries) *Image {
	h := heights.New(c, entries)
	a := &Image{Code: c, Entries: entries, Callees: h.Effects(), Heights: h}
	a.Flows = dataflow.New(c, entries, a.Callees, h)
	return a
}
