package image

import (
	"sync/atomic"

	"github.com/backsight/backsight/internal/mapped"
)

// Files are the files whose bytes an image shows: its own file, and its debug file.
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

// Blame tells whether a fault was an access to a file of the image. If so, Err returns the fault
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

// Err is nil, or why the image must be used no longer: a page of its file, or of its
// debug file, could not be read, and what was learned of the image may be incomplete.
func (fs *Files) Err() error {
	if err := fs.failed.Load(); err != nil {
		return err
	}
	return nil
}

// Forget gives back the memory of the files' pages, where the files are mapped. Callers use it when
// they hardly need again what they have looked at. A page that is needed again is read again.
func (fs *Files) Forget() {
	for _, f := range fs.known() {
		f.Forget(f.Data)
	}
}

// mostPeeks bounds the places of an image that Peek reads from the file. A caller that looks at
// more places comes back to the same pages, and is faster where these are mapped.
const mostPeeks = 1024

// Peek returns the bytes of part, which is a part of a segment's Data. Callers use it for places
// that, with their surroundings, are looked at only once. The bytes may be a copy; do not change
// them.
//
// Linux maps 16 pages of a file for a look at one byte. Looks at 40 places of the 100 MB of libLLVM
// took 2.5 MB of the 22 MB that a backtrace in a core of it took in all; bytes that are read from
// the file, as here, take none.
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
