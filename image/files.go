package image

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/backsight/backsight/internal/mapped"
)

// Files are the files whose bytes an image shows: its own file, and its debug file.
type Files struct {
	container Container
	failed    atomic.Pointer[Error]

	mu     sync.Mutex
	users  int
	closed bool
}

// Hold keeps the files open until Release, whoever closes the image meanwhile. The error is os.ErrClosed where the image was
// closed before.
func (fs *Files) Hold() error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed {
		return os.ErrClosed
	}
	fs.users++
	return nil
}

// Release ends a Hold. Where the image was closed meanwhile, the last Release closes the files.
func (fs *Files) Release() error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.users--; fs.users == 0 && fs.closed {
		return fs.release()
	}
	return nil
}

// close closes the files, or has the last Release do that.
func (fs *Files) close() error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	first := !fs.closed
	if fs.closed = true; first && fs.users == 0 {
		return fs.release()
	}
	return nil
}

func (fs *Files) release() error {
	if fs.container == nil {
		return nil
	}
	return fs.container.Close()
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
