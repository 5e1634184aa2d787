package image

import "github.com/backsight/backsight/internal/mapped"

// Backer is a Container that knows the files whose bytes it hands out.
type Backer interface {
	Files() []*File
}

// Blame tells whether a fault was an access to a file of the image. If so, Err says it
// from then on.
func (img *Image) Blame(fault *mapped.Fault) bool {
	b, ok := ContainerAs[Backer](img.container)
	if !ok {
		return false
	}
	for _, f := range b.Files() {
		if off, ok := fault.In(f.Data); ok {
			img.failed.CompareAndSwap(nil, &Error{Path: f.Name, Offset: int64(off), Reason: "cannot be read", Err: fault})
			return true
		}
	}
	return false
}

// Err is nil, or why the image can be used no longer: a page of its file, or of its
// debug file, could not be read. What was learned of it may be half done.
func (img *Image) Err() error {
	if err := img.failed.Load(); err != nil {
		return err
	}
	return nil
}
