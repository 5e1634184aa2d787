package image

import "github.com/backsight/backsight/internal/mapped"

// Backer is a Container that knows the files whose bytes it hands out.
type Backer interface {
	Files() []*File
}

// files are those of the image that are known, nil where none is.
func (img *Image) files() []*File {
	if b, ok := ContainerAs[Backer](img.container); ok {
		return b.Files()
	}
	return nil
}

// Blame tells whether a fault was an access to a file of the image. If so, Err says it
// from then on.
func (img *Image) Blame(fault *mapped.Fault) bool {
	for _, f := range img.files() {
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

// Forget says that what was looked at of the image so far will hardly be looked at again: the
// memory of its files' pages is given back where these are mapped.
func (img *Image) Forget() {
	for _, f := range img.files() {
		f.Forget(f.Data)
	}
}
