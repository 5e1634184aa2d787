package image

import (
	"sync/atomic"

	"github.com/backsight/backsight/internal/mapped"
)

// Files are the files whose bytes an image shows: its own, its debug file.
type Files struct {
	container Container
	failed    atomic.Pointer[Error]
	peeks     atomic.Int32
}

// Backer is a Container that knows the files whose bytes it hands out.
type Backer interface {
	Files() []*File
}

// known are the files of the image, nil where its Container tells none.
func (fs *Files) known() []*File {
	if b, ok := ContainerAs[Backer](fs.container); ok {
		return b.Files()
	}
	return nil
}

// Blame tells whether a fault was an access to a file of the image. If so, Err says it
// from then on.
func (fs *Files) Blame(fault *mapped.Fault) bool {
	for _, f := range fs.known() {
		if off, ok := fault.In(f.Data); ok {
			fs.failed.CompareAndSwap(nil, &Error{Path: f.Name, Offset: int64(off), Reason: "cannot be read", Err: fault})
			return true
		}
	}
	return false
}

// Err is nil, or why the image can be used no longer: a page of its file, or of its
// debug file, could not be read. What was learned of it may be half done.
func (fs *Files) Err() error {
	if err := fs.failed.Load(); err != nil {
		return err
	}
	return nil
}

// Forget says that what was looked at of the image so far will hardly be looked at again: the
// memory of its files' pages is given back where these are mapped.
func (fs *Files) Forget() {
	for _, f := range fs.known() {
		f.Forget(f.Data)
	}
}

// mostPeeks bounds the places of an image that Peek reads. Who looks at more of them looks at the
// same pages again, and is faster where these are mapped.
const mostPeeks = 1024

// Peek returns the bytes of part, of a segment's Data, that nobody is likely to look at again, nor
// at what lies around them: do not change them, they may be a copy.
//
// Linux maps 16 pages of a file for a look at one byte, so that looks at 40 places of the 100 MB of
// libLLVM took 2.5 MB of the 22 that the backtrace of a core of it took in all. Read from
// the file they take none.
func (fs *Files) Peek(part []byte) []byte {
	if fs.peeks.Load() >= mostPeeks {
		return part
	}
	fs.peeks.Add(1)
	for _, f := range fs.known() {
		if off, ok := mapped.Offset(f.Data, part); ok && f.again != nil {
			if copied := make([]byte, len(part)); f.again.read(copied, int64(off)) {
				return copied
			}
		}
	}
	return part
}
